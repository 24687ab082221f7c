/** Reload: what is the same is not touched, what is new comes, what is gone ends what was begun. */
import { expect, it } from 'vitest';
import { echo, serversOf, toolNames, useReloading } from '../support/reloading.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { textOf } from '../support/wire-message.ts';

const reloading = useReloading();

it('leaves servers alone that are the same, with all that clients have there', async () => {
  const one = scriptedServer({ config: { sharing: 'session' } });
  const two = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one, two }) });
  const client = await reloading.session(running.endpoint('one'));
  const merged = await reloading.session(`${running.url}/mcp`);
  const starts = 2;
  await until(() => one.journal.starts.length === starts);
  const { answer } = client.beginCall('slow', { ms: 1_000, v: 'done' });
  await one.journal.waitFor(({ raw }) => raw.includes('"slow"'));

  const three = scriptedServer();
  const line = await running.reload({ servers: serversOf({ three, two, one }) });

  expect(line).toMatchObject({ msg: 'configuration reloaded', trigger: 'SIGHUP' });
  expect(textOf(await answer)).toBe('done');
  expect(await echo(client)).toBe(true);
  expect(await echo(merged, 'one__echo')).toBe(true);
  expect(one.journal.starts).toHaveLength(starts);
  expect(two.journal.starts).toHaveLength(1);
  // Each session has the process that it had.
  expect(new Set(one.journal.messages('tools/call').map(({ pid }) => pid)).size).toBe(2);
});

it('shows a new server under its own path and in merged lists, to clients that are there too', async () => {
  const one = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one }) });
  const client = await reloading.session(`${running.url}/mcp`);
  const stream = client.openStream();
  await stream.head;
  expect(await toolNames(client)).toContain('echo');

  const two = scriptedServer();
  await running.reload({ servers: serversOf({ one, two }) });

  await stream.messages.next(({ method }) => method === 'notifications/tools/list_changed');
  expect(await toolNames(client)).toEqual(expect.arrayContaining(['one__echo', 'two__echo']));
  expect(await echo(client, 'two__echo')).toBe(true);
  const other = await reloading.session(running.endpoint('two'));
  expect(await echo(other)).toBe(true);
  expect(one.journal.starts).toHaveLength(1);
});

it('ends a server that is gone when its calls have ended, and then its sessions', async () => {
  const one = scriptedServer();
  const two = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one, two }) });
  const client = await reloading.session(running.endpoint('two'), {
    capabilities: { elicitation: {} },
  });
  const idle = await reloading.session(running.endpoint('two'));
  const merged = await reloading.session(`${running.url}/mcp`);
  const { answer, exchange } = client.beginCall('ask', { method: 'elicitation/create' });
  const asked = await exchange.messages.next(({ method }) => method === 'elicitation/create');

  await running.reload({ servers: serversOf({ one }) });

  expect(await toolNames(merged)).not.toContain('two__echo');
  const late = await client.begin('tools/list').exchange.response();
  expect([late.status, (await idle.begin('ping').exchange.response()).status]).toEqual([404, 404]);
  expect(await reloading.metric('sluice_sessions')).toBe(2);
  await client.respond(asked.id, { action: 'decline' });
  expect((await answer).error).toBeUndefined();
  await until(async () => (await reloading.metric('sluice_sessions')) === 1);
  const gone = await client.post({ jsonrpc: '2.0', id: 9, method: 'ping' }).response();
  expect(gone.status).toBe(404);
  await two.journal.waitForEvent('eof');
});

it('goes on as it was with a configuration that is wrong, and says where', async () => {
  const one = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one }) });
  const client = await reloading.session(running.endpoint('one'));

  const line = await running.reload({
    servers: serversOf({ one }),
    config: { sessions: { idle: 'soon' }, limits: { bodyBytes: 1 } },
  });

  expect(line).toMatchObject({
    level: 'error',
    msg: expect.stringMatching(/^configuration refused/),
  });
  const errors = running.logs().flatMap(({ error }) => (typeof error === 'string' ? [error] : []));
  expect(errors).toEqual([
    expect.stringMatching(/sluice\.yaml:\d+:\d+: sessions\.idle: /),
    expect.stringMatching(/sluice\.yaml:\d+:\d+: limits\.bodyBytes: /),
  ]);
  expect(await reloading.metric('sluice_config_reloads_total', { outcome: 'refused' })).toBe(1);
  expect(await echo(client)).toBe(true);
  expect(one.journal.starts).toHaveLength(1);

  await running.reload({ servers: serversOf({ one }) });
  expect(await reloading.metric('sluice_config_reloads_total', { outcome: 'ok' })).toBe(1);
});

it('obeys limits, timeouts and the log level at once, and names what needs a restart', async () => {
  const one = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one }) });
  const client = await reloading.session(running.endpoint('one'));

  const timeouts = { request: '100ms' };
  const line = await running.reload({
    servers: { one: { ...one.config, timeouts } },
    listen: { port: 1, maxBody: '1MiB' },
    log: { level: 'warn', messages: true },
    config: { sessions: { maxInFlight: 1 } },
  });

  expect(line).toMatchObject({ needsRestart: ['listen', 'log.messages'] });
  expect(one.journal.starts).toHaveLength(1);
  const answers = await Promise.all([
    client.call('slow', { ms: 5_000 }),
    client.call('slow', { ms: 5_000 }),
  ]);
  const reasons = answers.map(
    ({ error }) => (error?.data as { reason?: string } | undefined)?.reason,
  );
  expect(reasons.toSorted()).toEqual(['overloaded', 'server_timeout']);
  const lines = running.logs().length;
  await reloading.session(running.endpoint('one'));
  expect(running.logs()).toHaveLength(lines);
});
