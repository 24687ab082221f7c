/**
 * What servers hand out to one client, or keep for one, in the hands of another or at another place: tasks
 * and results that are kept.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestKeys } from '../../support/api-keys.ts';
import { ModernClient } from '../../support/modern-client.ts';
import { RemoteServer, sendJson } from '../../support/remote-server.ts';
import { fixtureServer } from '../../support/scripted-server.ts';
import { useGateway } from '../../support/use-gateway.ts';
import type { Json } from '../../support/wire-message.ts';

const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const keys = new TestKeys();
for (const name of ['ann', 'bob']) keys.add(name);
const auth = { keys: { file: keys.file }, allow: [{ servers: ['*'] }] };

const remote = await RemoteServer.start({ era: 'modern' });

describe('a task', () => {
  const one = fixtureServer('scripted-tasks.ts');
  const two = fixtureServer('scripted-tasks.ts');
  const harness = useGateway(() => ({
    servers: { one: one.config, two: two.config },
    config: { auth },
  }));
  const by = (name: string, server: string): ModernClient =>
    harness.track(new ModernClient(harness.url(server), TASKS, keys.headers(name)));

  it('B15 a task is unknown at another server, though that has one of the same id', async () => {
    const made = async (server: string): Promise<string> =>
      String((await by('ann', server).call('hold')).result?.['taskId']);
    const taskId = await made('one');
    await made('two');
    const asked = (): number =>
      [one, two]
        .flatMap(({ journal }) => journal.messages())
        .filter(({ method }) => method?.startsWith('tasks/')).length;
    const before = asked();
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      for (const [name, server] of [
        ['ann', 'two'],
        ['bob', 'one'],
        ['bob', 'two'],
      ] as const) {
        const { error } = await by(name, server).request(method, { taskId, inputResponses: {} });
        expect(error?.code, `${method} of ${name} at ${server}`).toBe(-32_602);
      }
    }
    expect(asked()).toBe(before);
    const own = await by('ann', 'one').request('tasks/get', { taskId });
    expect(own.result).toMatchObject({ taskId });
    await by('ann', 'one').request('tasks/cancel', { taskId });
  });
});

describe('results that are kept', () => {
  let reads = 0;
  const harness = useGateway(() => ({
    servers: { one: { url: remote.url, transport: 'streamable-http' } },
    config: { auth },
  }));
  beforeAll(() => {
    remote.takeover = ({ message, response }) => {
      if (message.method !== 'resources/read') return false;
      const uri = String(message.params?.['uri']);
      const contents = [{ uri, text: `read ${++reads}` }];
      const cacheScope = uri.startsWith('public:') ? 'public' : 'private';
      const result = { resultType: 'complete', ttlMs: 60_000, cacheScope, contents };
      sendJson(response, 200, { jsonrpc: '2.0', id: message.id, result });
      return true;
    };
  });
  afterAll(() => remote.close());

  const read = async (name: string, uri: string): Promise<unknown> => {
    const client = harness.track(new ModernClient(harness.url(), {}, keys.headers(name)));
    const { result } = await client.request('resources/read', { uri });
    const [contents] = (result?.['contents'] ?? []) as Json[];
    return contents?.['text'];
  };

  it('GW-156 are given again to their owner, and to nobody else when they are private', async () => {
    const first = await read('ann', 'secret:1');
    expect(await read('ann', 'secret:1')).toBe(first);
    const other = await read('bob', 'secret:1');
    expect(other).not.toBe(first);
    expect(await read('bob', 'secret:1')).toBe(other);
    expect(await read('ann', 'secret:1')).toBe(first);
    const shared = await read('ann', 'public:1');
    expect(await read('bob', 'public:1')).toBe(shared);
  });
});
