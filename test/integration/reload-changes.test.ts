/** Reload of a changed server: the new process starts beside the old one, and clients move. */
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { rewriteConfiguration } from '../support/gateway-options.ts';
import { isAlive } from '../support/processes.ts';
import { changed, echo, serversOf, toolNames, useReloading } from '../support/reloading.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { textOf } from '../support/wire-message.ts';

const reloading = useReloading();
const LIST_CHANGED = 'notifications/tools/list_changed';

it.each(['/mcp', '/servers/one/mcp'])(
  'at %s calls in flight end at the old process, and new ones go to the new one',
  async (path) => {
    const one = scriptedServer();
    const running = await reloading.start({ servers: serversOf({ one }) });
    const client = await reloading.session(`${running.url}${path}`, {
      capabilities: { elicitation: {} },
    });
    const { answer, exchange } = client.beginCall('ask');
    const asked = await exchange.messages.next(({ method }) => method === 'elicitation/create');
    const [old = 0] = one.journal.starts;

    await running.reload({ servers: serversOf({ one: changed(one) }) });

    const [, now] = one.journal.starts;
    expect(await echo(client)).toBe(true);
    expect(one.journal.messages('tools/call').at(-1)?.pid).toBe(now);
    expect(isAlive(old)).toBe(true);
    await client.respond(asked.id, { action: 'decline' });
    expect(textOf(await answer)).toContain('decline');
    await until(() => !isAlive(old));
    expect(one.journal.starts).toHaveLength(2);
  },
);

it.each(['/mcp', '/servers/one/mcp'])(
  'at %s log level and subscriptions go on, and only a server that changed is told',
  async (path) => {
    const one = scriptedServer();
    const two = scriptedServer();
    const running = await reloading.start({ servers: serversOf({ one, two }) });
    const client = await reloading.session(`${running.url}${path}`);
    await client.request('logging/setLevel', { level: 'warning' });
    const uri = path === '/mcp' ? 'one+file:///a' : 'file:///a';
    await client.request('resources/subscribe', { uri });
    const before = two.journal.messages().length;

    await running.reload({ servers: serversOf({ one: changed(one), two }) });

    const [, now] = one.journal.starts;
    const told = (): (string | undefined)[] =>
      one.journal.messages().flatMap(({ method, pid }) => (pid === now ? [method] : []));
    await until(() => told().includes('resources/subscribe'));
    expect(told().filter((method) => method === 'logging/setLevel')).toHaveLength(1);
    expect(
      two.journal
        .messages()
        .slice(before)
        .map(({ method }) => method),
    ).toEqual([]);
  },
);

it('a private process is replaced by another one for the same session', async () => {
  const one = scriptedServer({ config: { sharing: 'session' } });
  const running = await reloading.start({ servers: serversOf({ one }) });
  const clients = await Promise.all(
    ['a', 'b'].map(() => reloading.session(running.endpoint('one'))),
  );
  const before = one.journal.starts;
  const slow = clients.map((client) => client.beginCall('slow', { ms: 800, v: 'done' }).answer);
  await until(() => one.journal.messages('tools/call').length === 2);

  await running.reload({ servers: serversOf({ one: changed(one) }) });

  expect(await Promise.all(clients.map((client) => echo(client)))).toEqual([true, true]);
  expect((await Promise.all(slow)).map(textOf)).toEqual(['done', 'done']);
  await until(() => before.every((pid) => !isAlive(pid)));
  expect(one.journal.starts).toHaveLength(4);
});

it('tells clients which lists are other ones, and of no other', async () => {
  const same = new CatalogServer({ name: 'same', tools: tools('a') });
  const other = new CatalogServer({ name: 'other', tools: tools('b') });
  const running = await reloading.start({ servers: serversOf({ same, other }) });
  const paths = ['/servers/same/mcp', '/servers/other/mcp', '/mcp'];
  const clients = await Promise.all(
    paths.map((path) => reloading.session(`${running.url}${path}`)),
  );
  for (const client of clients) await toolNames(client);
  const streams = clients.map((client) => client.openStream());
  await Promise.all(streams.map(({ head }) => head));

  other.change({ tools: tools('b', 'c') });
  await running.reload({ servers: serversOf({ same: changed(same), other: changed(other) }) });

  for (const stream of streams.slice(1)) {
    await stream.messages.next(({ method }) => method === LIST_CHANGED);
  }
  expect(streams[0]?.messages.all).toEqual([]);
  const [, direct, merged] = clients;
  expect(direct && (await toolNames(direct))).toEqual(['b', 'c']);
  expect(merged && (await toolNames(merged))).toContain('other__c');
});

it('shows a changed server that can not be started after its time, and the next one that can', async () => {
  const one = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one }) });
  const client = await reloading.session(running.endpoint('one'));

  const broken = { ...one.config, command: '/nothing/here', timeouts: { start: '300ms' } };
  await running.reload({ servers: { one: broken } });
  expect((await client.call('echo', { v: 'x' })).error?.data).toMatchObject({
    reason: 'server_unavailable',
  });

  await running.reload({ servers: serversOf({ one }) });
  expect(await echo(client)).toBe(true);
});

it('follows the file and files that it names, however they are replaced', async () => {
  const one = scriptedServer();
  const running = await reloading.start({ servers: serversOf({ one }) });
  const reloads = (): Promise<number> => reloading.metric('sluice_config_reloads_total');
  const { folder } = running;
  const env = { ...(one.config['env'] as object), SECRET: '${file:current/secret}' };
  // As Kubernetes mounts them: a link to a folder is replaced by another one.
  for (const [name, text] of [
    ['v1', 'first'],
    ['v2', 'second'],
  ] as const) {
    symlinkSync(name, join(folder, `to-${name}`));
    writeVersion(join(folder, name), text);
  }
  renameSync(join(folder, 'to-v1'), join(folder, 'current'));

  rewriteConfiguration(folder, { servers: { one: { ...one.config, env } } });
  await until(async () => (await reloads()) === 1);
  expect(one.journal.starts).toHaveLength(2);

  renameSync(join(folder, 'to-v2'), join(folder, 'current'));
  await until(async () => (await reloads()) === 2);
  expect(one.journal.starts).toHaveLength(3);

  writeFileSync(join(folder, 'sluice.yaml.new'), '{ broken');
  renameSync(join(folder, 'sluice.yaml.new'), join(folder, 'sluice.yaml'));
  await until(async () => (await reloads()) === 3);
  const client = await reloading.session(running.endpoint('one'));
  expect(await echo(client)).toBe(true);

  rewriteConfiguration(folder, {
    servers: serversOf({ one }),
    config: { reload: { watch: false } },
  });
  await until(async () => (await reloads()) === 4);
  expect(one.journal.starts).toHaveLength(4);
});

function writeVersion(folder: string, text: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'secret'), text);
}
