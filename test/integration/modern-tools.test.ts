// Tools whose schemas say more than a modern client may see, or that it must repeat in headers; and
// clients that never come back (docs/protocol.md#results-across-eras, #suspended-calls,
// #mirrored-arguments).
import { describe, expect, it } from 'vitest';
import { ModernClient, serverRequestsOf } from '../support/modern-client.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';
import { type Json, textOf } from '../support/wire-message.ts';

const properties = {
  region: { type: 'string', 'x-mcp-header': 'Region' },
  deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
  flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
};
const wrong = {
  type: 'object',
  properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } }, b: {} },
};
const entries = {
  echo: { inputSchema: { type: 'object', properties }, execution: { taskSupport: 'optional' } },
  meta: { inputSchema: wrong },
};
const one = scriptedServer({ args: ['--entries', JSON.stringify(entries), '--page', '5'] });
const harness = useGateway(() => ({
  servers: { one: one.config },
  config: { state: { ttl: '500ms' } },
}));
const { journal } = one;
const client = (capabilities: Json = {}): ModernClient =>
  harness.track(new ModernClient(harness.url(), capabilities));

/** Status, and error code or text, of a call of `echo`. */
async function echo(args: Json, headers: Record<string, string>): Promise<readonly unknown[]> {
  const params = { name: 'echo', arguments: args };
  const { status, message } = await client().whole('tools/call', params, { headers });
  return [status, message.error?.code ?? textOf(message)];
}

describe('arguments in headers', () => {
  it('GW-031: are those of the schema, and say the same', async () => {
    const fine: readonly (readonly [Json, Record<string, string>])[] = [
      [{ region: 'eu' }, { 'Mcp-Param-Region': 'eu' }],
      [{ region: 'eu' }, { 'mcp-param-region': '  eu ' }],
      [{ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8=?=' }],
      [{ region: '=?base64?SGVsbG8=' }, { 'mcp-param-region': '=?base64?SGVsbG8=' }],
      [{ deep: { n: 42 } }, { 'mcp-param-n': '42.0' }],
      [{ flag: false }, { 'mcp-param-flag': 'false' }],
      [{ region: null }, {}],
      [{}, {}],
      [{}, { 'mcp-param-other': 'x' }],
    ];
    for (const [args, headers] of fine) {
      expect(await echo(args, headers)).toEqual([200, JSON.stringify(args)]);
    }
    const before = journal.messages('tools/call').length;
    const bad: readonly (readonly [Json, Record<string, string>])[] = [
      [{ region: 'eu' }, {}],
      [{ region: 'eu' }, { 'mcp-param-region': 'us' }],
      [{ region: 'eu' }, { 'mcp-param-region': 'EU' }],
      [{ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }],
      [{ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGV%bG8=?=' }],
      [{}, { 'mcp-param-region': 'eu' }],
      [{ region: null }, { 'mcp-param-region': 'null' }],
      [{ deep: { n: 42 } }, { 'mcp-param-n': '43' }],
      [{ flag: true }, { 'mcp-param-flag': 'TRUE' }],
    ];
    for (const [args, headers] of bad) {
      expect(await echo(args, headers), JSON.stringify([args, headers])).toEqual([400, -32_020]);
    }
    expect(journal.messages('tools/call')).toHaveLength(before);
  });

  it('GW-031: the list is read once, until it changes', async () => {
    const firstPages = (): number =>
      journal.messages('tools/list').filter(({ params }) => params?.['cursor'] === undefined)
        .length;
    await client().call('count');
    const before = firstPages();
    await Promise.all([1, 2, 3].map(() => client().call('count')));
    expect(firstPages()).toBe(before);
    await client().call('list_change');
    await client().call('count');
    expect(firstPages()).toBe(before + 1);
  });
});

describe('the list of tools', () => {
  it('A-12, 5.3: has no wrong annotations and nothing of tasks', async () => {
    const tools: Json[] = [];
    let cursor: unknown;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const { result } = await client().request('tools/list', params);
      expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
      tools.push(...((result?.['tools'] ?? []) as Json[]));
      cursor = result?.['nextCursor'];
    } while (cursor !== undefined);
    const tool = (name: string): Json | undefined => tools.find((one) => one['name'] === name);
    expect(tool('echo')).toEqual({
      name: 'echo',
      description: 'Scripted echo',
      inputSchema: { type: 'object', properties },
    });
    expect(tool('meta')?.['inputSchema']).toEqual({
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'string' } }, b: {} },
    });
  });
});

describe('a client that never comes back', () => {
  it('GW-117: closes the form and cancels the call', async () => {
    const by = client({ elicitation: {} });
    const args = { v: 'GW-117' };
    const round = await by.call('ask_hang', args);
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const call = await journal.waitFor(({ raw }) => raw.includes('GW-117'));
    const reply = await journal.waitFor(
      ({ method, result }) => method === undefined && result?.['action'] !== undefined,
    );
    expect(reply.result).toEqual({ action: 'cancel' });
    await journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === call.id,
    );
    const late = await by.retry('ask_hang', args, round, { [key]: { action: 'decline' } });
    expect(late.error).toMatchObject({ code: -32_602 });
  });

  it('GW-117: refuses sampling', async () => {
    const by = client({ sampling: {} });
    await by.call('sample');
    const reply = await journal.waitFor(
      ({ method, error }) => method === undefined && error !== undefined,
    );
    expect(reply.error).toMatchObject({ code: -32_603 });
  });
});
