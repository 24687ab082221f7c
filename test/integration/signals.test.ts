/** Signals whose default is to end the process at once, or to open a debugger in it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { programFlags } from '../support/program-flags.ts';
import { ROOT } from '../support/root.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { textOf } from '../support/wire-message.ts';

it.each([
  ['SIGHUP', 'configuration reloaded'],
  ['SIGUSR1', 'SIGUSR1 is ignored'],
  ['SIGUSR2', 'SIGUSR2 is ignored'],
] as const)('%s is a line in the log; a call in flight goes on', async (signal, text) => {
  const one = scriptedServer();
  const gateway = await startGateway({ ownProcess: true, servers: { one: one.config } });
  const session = await LegacySession.open(gateway.endpoint('one'));
  const { answer } = session.beginCall('slow', { ms: 500, v: 'done' });
  await one.journal.waitFor(({ raw }) => raw.includes('"slow"'));
  gateway.signal(signal);
  await gateway.waitForLog(({ msg }) => String(msg).startsWith(text));
  expect(textOf(await answer)).toBe('done');
  // What Node says of a debugger goes to stderr too, past the log.
  expect(gateway.logs().filter(({ unparsed }) => unparsed !== undefined)).toEqual([]);
  expect(one.journal.starts).toHaveLength(1);
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
});

it('SIGQUIT lets calls in flight end, as SIGTERM does', async () => {
  const one = scriptedServer();
  const gateway = await startGateway({ ownProcess: true, servers: { one: one.config } });
  const session = await LegacySession.open(gateway.endpoint('one'));
  const { answer } = session.beginCall('slow', { ms: 500, v: 'done' });
  await one.journal.waitFor(({ raw }) => raw.includes('"slow"'));
  gateway.signal('SIGQUIT');
  expect(textOf(await answer)).toBe('done');
  expect(await gateway.exit).toEqual({ code: 0, signal: null });
});

it('npm start starts node as the installed program does, with flags against a debugger', () => {
  const { variables, nodeArgs } = programFlags();
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(scripts.start).toContain(`${variables.join(' ')} exec node ${nodeArgs.join(' ')} src/`);
  expect(nodeArgs).toContain('--disable-sigusr1');
});
