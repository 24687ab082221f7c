/** Reload: what is the same is not touched, what is new comes, what is gone ends what was begun. */
import { afterEach, expect, it } from 'vitest';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { LegacySession, type SessionOptions } from '../support/legacy-session.ts';
import { assertTablesEmpty, fetchMetrics, metricSum } from '../support/metrics.ts';
import { type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { textOf } from '../support/wire-message.ts';

const open: { close(): Promise<void> }[] = [];
let gateway: Gateway | undefined;

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  if (gateway === undefined) return;
  await assertTablesEmpty(gateway);
  const running = gateway;
  gateway = undefined;
  expect(await running.stop()).toEqual({ code: 0, signal: null });
});

async function started(options: GatewayOptions): Promise<Gateway> {
  gateway = await startGateway(options);
  return gateway;
}

async function session(url: string, options: SessionOptions = {}): Promise<LegacySession> {
  const opened = await LegacySession.open(url, options);
  open.push(opened);
  return opened;
}

const servers = (all: Readonly<Record<string, ScriptedServer>>): GatewayOptions['servers'] =>
  Object.fromEntries(Object.entries(all).map(([name, { config }]) => [name, config]));

async function metric(name: string, labels: Readonly<Record<string, string>> = {}) {
  return metricSum(await fetchMetrics(gateway?.adminUrl ?? ''), name, labels);
}

/** Whether a tool that says what it is told does so. */
async function echo(client: LegacySession, tool = 'echo'): Promise<boolean> {
  return textOf(await client.call(tool, { v: 'said' })) === '{"v":"said"}';
}

async function toolNames(client: LegacySession): Promise<string[]> {
  const { result } = await client.request('tools/list');
  const tools = (result?.['tools'] ?? []) as { name: string }[];
  return tools.map(({ name }) => name);
}

it('leaves servers alone that are the same, with all that clients have there', async () => {
  const one = scriptedServer({ config: { sharing: 'session' } });
  const two = scriptedServer();
  const running = await started({ servers: servers({ one, two }) });
  const client = await session(running.endpoint('one'));
  const merged = await session(`${running.url}/mcp`);
  const starts = one.journal.starts.length;
  const { answer } = client.beginCall('slow', { ms: 1_000, v: 'done' });
  await one.journal.waitFor(({ raw }) => raw.includes('"slow"'));

  const three = scriptedServer();
  const line = await running.reload({ servers: servers({ three, two, one }) });

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
  const running = await started({ servers: servers({ one }) });
  const client = await session(`${running.url}/mcp`);
  const stream = client.openStream();
  await stream.head;
  expect(await toolNames(client)).toContain('echo');

  const two = scriptedServer();
  await running.reload({ servers: servers({ one, two }) });

  await stream.messages.next(({ method }) => method === 'notifications/tools/list_changed');
  expect(await toolNames(client)).toEqual(expect.arrayContaining(['one__echo', 'two__echo']));
  expect(await echo(client, 'two__echo')).toBe(true);
  const other = await session(running.endpoint('two'));
  expect(await echo(other)).toBe(true);
  expect(one.journal.starts).toHaveLength(1);
});

it('ends a server that is gone when its calls have ended, and then its sessions', async () => {
  const one = scriptedServer();
  const two = scriptedServer();
  const running = await started({ servers: servers({ one, two }) });
  const client = await session(running.endpoint('two'), { capabilities: { elicitation: {} } });
  const idle = await session(running.endpoint('two'));
  const merged = await session(`${running.url}/mcp`);
  const { answer, exchange } = client.beginCall('ask', { method: 'elicitation/create' });
  const asked = await exchange.messages.next(({ method }) => method === 'elicitation/create');

  await running.reload({ servers: servers({ one }) });

  expect(await toolNames(merged)).not.toContain('two__echo');
  const late = await client.begin('tools/list').exchange.response();
  expect([late.status, (await idle.begin('ping').exchange.response()).status]).toEqual([404, 404]);
  expect(await metric('sluice_sessions')).toBe(2);
  await client.respond(asked.id, { action: 'decline' });
  expect((await answer).error).toBeUndefined();
  await until(async () => (await metric('sluice_sessions')) === 1);
  const gone = await client.post({ jsonrpc: '2.0', id: 9, method: 'ping' }).response();
  expect(gone.status).toBe(404);
  await two.journal.waitForEvent('eof');
});

it('goes on as it was with a configuration that is wrong, and says where', async () => {
  const one = scriptedServer();
  const running = await started({ servers: servers({ one }) });
  const client = await session(running.endpoint('one'));

  const line = await running.reload({
    servers: servers({ one }),
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
  expect(await metric('sluice_config_reloads_total', { outcome: 'refused' })).toBe(1);
  expect(await echo(client)).toBe(true);
  expect(one.journal.starts).toHaveLength(1);

  await running.reload({ servers: servers({ one }) });
  expect(await metric('sluice_config_reloads_total', { outcome: 'ok' })).toBe(1);
});

it('obeys limits, timeouts and the log level at once, and names what needs a restart', async () => {
  const one = scriptedServer();
  const running = await started({ servers: servers({ one }) });
  const client = await session(running.endpoint('one'));

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
  await session(running.endpoint('one'));
  expect(running.logs()).toHaveLength(lines);
});
