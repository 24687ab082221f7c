/**
 * E07: the program of a server is looked up once. Another one that appears before it on PATH is not started,
 * one that takes its place is noticed, and a relative path starts at the configuration file's folder.
 */
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { useGateway } from '../support/use-gateway.ts';

/** A program that is node, under another name. */
const NODE = `#!/bin/sh\nexec "${process.execPath}" "$@"\n`;
const [early, late] = [tempDir(), tempDir()];

function install(path: string, text = NODE): void {
  writeFileSync(`${path}.new`, text);
  chmodSync(`${path}.new`, 0o755);
  renameSync(`${path}.new`, path);
}

install(join(late, 'sluice-e07'));
const named = scriptedServer({ config: { command: 'sluice-e07' } });
const relative = scriptedServer({ config: { command: './bin/server', start: 'lazy' } });
const harness = useGateway(() => ({
  servers: { named: named.config, relative: relative.config },
  env: { PATH: `${early}:${late}:${process.env['PATH'] ?? ''}` },
}));

it('a program of that name that comes to stand before it on PATH is not started (E07)', async () => {
  install(join(early, 'sluice-e07'), '#!/bin/sh\nexit 66\n');
  await harness.gateway.waitForLog(
    ({ msg, server, path }) =>
      msg === 'program of the server' && server === 'named' && path === join(late, 'sluice-e07'),
  );
  const session = await harness.session({ server: 'named' });
  await session.call('die');
  expect(await session.call('pid')).toHaveProperty('result');
  expect(named.journal.starts).toHaveLength(2);
});

it('another file in its place is started, and the log says so (E07)', async () => {
  install(join(late, 'sluice-e07'), `${NODE}# another one\n`);
  const session = await harness.session({ server: 'named' });
  await session.call('die');
  expect(await session.call('pid')).toHaveProperty('result');
  await harness.gateway.waitForLog(
    ({ level, msg, server }) =>
      level === 'warn' && server === 'named' && String(msg).includes('has changed'),
  );
});

it('a relative path starts at the folder of the configuration file (E07)', async () => {
  mkdirSync(join(harness.gateway.folder, 'bin'));
  install(join(harness.gateway.folder, 'bin/server'));
  const session = await harness.session({ server: 'relative' });
  expect(await session.call('pid')).toHaveProperty('result');
});
