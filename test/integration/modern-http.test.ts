// The HTTP side of the stateless era, with a legacy server behind it: the ladder of checks in its
// order, what answers look like, and how they are cancelled (docs/protocol.md#modern-http).
import { describe, expect, it } from 'vitest';
import { ModernClient } from '../support/modern-client.ts';
import { enveloped } from '../support/modern-envelope.ts';
import { useScripted } from '../support/use-gateway.ts';
import { type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const P = 'io.modelcontextprotocol/';
const { harness, journal } = useScripted();

const client = (): ModernClient => harness.track(new ModernClient(harness.url()));
const VERSION = { 'mcp-protocol-version': '2026-07-28' };
const listTools = (params: Json = enveloped()): Json => ({
  jsonrpc: '2.0',
  id: 'x',
  method: 'tools/list',
  params,
});

/** Status and error code of a POST. */
async function refusal(
  body: unknown,
  headers: Readonly<Record<string, string | undefined>>,
): Promise<{ status: number; code: number | undefined; id: unknown; data: unknown }> {
  const response = await client().post(body, headers).response();
  const { error, id } = response.json() as WireMessage;
  return { status: response.status, code: error?.code, id, data: error?.data };
}

describe('C02 the ladder', () => {
  it('GW-020: server/discover describes the server', async () => {
    const { status, message } = await client().whole('server/discover');
    expect(status).toBe(200);
    expect(message.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true }, logging: {}, completions: {} },
      instructions: 'Do as the script says.',
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { [`${P}serverInfo`]: { name: 'scripted', version: '1.0.0' } },
    });
  });

  it('GW-021, GW-017: capabilities must be there, clientInfo need not', async () => {
    const meta = { [`${P}protocolVersion`]: '2026-07-28' };
    const headers = { ...VERSION, 'mcp-method': 'tools/list' };
    const without = await refusal(listTools({ _meta: meta }), headers);
    expect(without).toMatchObject({ status: 400, code: -32_602, id: 'x' });
    const served = { _meta: { ...meta, [`${P}clientCapabilities`]: {} } };
    const response = await client().post(listTools(served), headers).response();
    expect(response.status).toBe(200);
  });

  it('GW-022: a modern header over a message without envelope', async () => {
    for (const params of [{}, { _meta: {} }]) {
      const refused = await refusal(listTools(params), { ...VERSION, 'mcp-method': 'tools/list' });
      expect(refused).toMatchObject({ status: 400, code: -32_602, id: 'x' });
    }
  });

  it('GW-023, GW-024, GW-017: the version header must repeat the message', async () => {
    for (const version of ['2025-11-25', '2099-01-01', undefined]) {
      const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' };
      const refused = await refusal(listTools(), headers);
      expect(refused, version).toMatchObject({ status: 400, code: -32_020, id: 'x' });
    }
    const initialize = { jsonrpc: '2.0', id: 'x', method: 'initialize', params: {} };
    expect(await refusal(initialize, VERSION)).toMatchObject({ status: 400, code: -32_020 });
  });

  it('GW-025, GW-017: an unknown version, with those that are served', async () => {
    const discovered = await client().request('server/discover');
    for (const version of ['2099-01-01', '1900-01-01']) {
      const body = listTools(enveloped({}, { version }));
      const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' };
      expect(await refusal(body, headers)).toEqual({
        status: 400,
        code: -32_022,
        id: 'x',
        data: { supported: discovered.result?.['supportedVersions'], requested: version },
      });
    }
  });

  it('GW-026: Mcp-Method repeats the method', async () => {
    for (const method of [undefined, 'tools/call', 'TOOLS/LIST', '']) {
      const refused = await refusal(listTools(), { ...VERSION, 'mcp-method': method });
      expect(refused, method).toMatchObject({ status: 400, code: -32_020, id: 'x' });
    }
    const headers = { 'MCP-PROTOCOL-VERSION': '2026-07-28', 'MCP-Method': '  tools/list  ' };
    expect((await client().post(listTools(), headers).response()).status).toBe(200);
  });

  it('GW-027, trial 82: Mcp-Name repeats name or uri; the server sees nothing', async () => {
    const calls: readonly (readonly [string, Json])[] = [
      ['tools/call', { name: 'count' }],
      ['prompts/get', { name: 'greet' }],
      ['resources/read', { uri: 'test://one' }],
    ];
    for (const [method, params] of calls) {
      const before = journal.messages(method).length;
      for (const name of [undefined, 'other']) {
        const { status, message } = await client().whole(method, params, {
          headers: { 'mcp-name': name },
        });
        expect({ status, code: message.error?.code }).toEqual({ status: 400, code: -32_020 });
      }
      expect(journal.messages(method)).toHaveLength(before);
      expect((await client().request(method, params)).result).toBeDefined();
    }
  });

  it('GW-028: Mcp-Name in base64', async () => {
    const uri = 'test://\u00e9/\u{1f600}';
    const encoded = Buffer.from(uri).toString('base64');
    const read = (name: string) =>
      client().whole('resources/read', { uri }, { headers: { 'mcp-name': name } });
    expect((await read(`=?base64?${encoded}?=`)).message.result).toBeDefined();
    for (const name of [`=?base64?${encoded}!?=`, '=?base64?gA==?=', encoded]) {
      const { status, message } = await read(name);
      expect({ status, code: message.error?.code }).toEqual({ status: 400, code: -32_020 });
    }
  });

  it('GW-029, GW-030, GW-132: methods that this era does not have', async () => {
    const before = journal.messages().length;
    for (const method of [
      'initialize',
      'ping',
      'logging/setLevel',
      'resources/subscribe',
      'resources/unsubscribe',
      'tasks/list',
      'tasks/result',
      'vendor/echo',
    ]) {
      const { status, headers, message } = await client().whole(method);
      expect({ status, code: message.error?.code }, method).toEqual({
        status: 404,
        code: -32_601,
      });
      expect(headers).not.toHaveProperty('mcp-session-id');
    }
    expect(journal.messages()).toHaveLength(before);
    const { result } = await client().request('server/discover');
    expect(result?.['capabilities']).not.toHaveProperty('tasks');
  });

  it('GW-039: a response with modern headers', async () => {
    const response = await client()
      .post({ jsonrpc: '2.0', id: 1, result: {} }, { ...VERSION, 'mcp-method': 'x' })
      .response();
    expect(response.status).toBe(400);
  });

  it('a batch with an envelope in it is refused', async () => {
    const refused = await refusal([listTools()], VERSION);
    expect(refused).toMatchObject({ status: 400, code: -32_600 });
  });
});

describe('answers', () => {
  it('GW-015, GW-043, GW-041: what every result says', async () => {
    const requests: readonly (readonly [string, Json, boolean])[] = [
      ['tools/list', {}, true],
      ['prompts/list', {}, true],
      ['resources/list', {}, true],
      ['resources/templates/list', {}, true],
      ['resources/read', { uri: 'test://one' }, true],
      ['prompts/get', { name: 'greet' }, false],
      ['tools/call', { name: 'echo', arguments: {} }, false],
      ['completion/complete', { ref: {}, argument: { name: 'a', value: '' } }, false],
    ];
    for (const [method, params, isCacheable] of requests) {
      const { result } = await client().request(method, params);
      expect(result, method).toMatchObject({
        resultType: 'complete',
        _meta: { [`${P}serverInfo`]: { name: 'scripted' } },
        ...(isCacheable ? { ttlMs: 0, cacheScope: 'private' } : {}),
      });
      if (!isCacheable) expect(result, method).not.toHaveProperty('ttlMs');
    }
  });

  it('GW-111, trial 52: the server sees one initialize and no envelope', async () => {
    const { result } = await client().call(
      'echo',
      { n: 1 },
      { meta: { traceparent: '00-a-b-01' } },
    );
    expect(result).toMatchObject({ content: [{ text: '{"n":1}' }] });
    expect(journal.messages('initialize')).toHaveLength(1);
    for (const key of ['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel']) {
      const told = journal.messages().filter(({ raw }) => raw.includes(P + key));
      expect(told.filter(({ method }) => method !== 'server/discover')).toEqual([]);
    }
    const [echoed] = journal.messages('tools/call').filter(({ raw }) => raw.includes('{"n":1}'));
    expect(echoed?.params?.['_meta']).toEqual({ traceparent: '00-a-b-01' });
  });

  it('GW-032, GW-033: no session, whatever the client says of one', async () => {
    const { status, headers, text } = await client().whole(
      'tools/call',
      { name: 'progress', arguments: {} },
      {
        headers: { 'mcp-session-id': 'bogus', 'last-event-id': '1_1' },
        meta: { progressToken: 1 },
      },
    );
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/event-stream');
    expect(headers['x-accel-buffering']).toBe('no');
    expect(headers).not.toHaveProperty('mcp-session-id');
    expect(text).not.toMatch(/^id:/m);
  });

  it('GW-038, GW-036: notifications, one response, the end', async () => {
    const pending = client().beginCall('progress', {}, { meta: { progressToken: 'p' } });
    await pending.exchange.response();
    const messages = pending.exchange.messages.all;
    expect(messages.map(({ method }) => method)).toEqual([
      'notifications/progress',
      'notifications/progress',
      'notifications/progress',
      undefined,
    ]);
    expect(messages.map(({ params }) => params?.['progressToken'])).toEqual([
      'p',
      'p',
      'p',
      undefined,
    ]);
    expect(messages.filter(({ method, id }) => method !== undefined && id !== undefined)).toEqual(
      [],
    );
  });

  it('GW-040: lists come in the same order for everybody', async () => {
    const lists = await Promise.all([1, 2, 3].map(() => client().request('tools/list')));
    const [first, ...others] = lists.map(({ result }) => JSON.stringify(result?.['tools']));
    for (const other of others) expect(other).toBe(first);
  });

  it('GW-044: an unknown tool', async () => {
    const { status, message } = await client().whole('tools/call', { name: 'no such tool' });
    expect({ status, code: message.error?.code }).toEqual({ status: 200, code: -32_602 });
  });

  it('GW-045: a missing resource', async () => {
    const uri = 'file:///no';
    const { status, message } = await client().whole('resources/read', { uri });
    expect(status).toBe(200);
    expect(message.error).toMatchObject({ code: -32_602, data: { uri } });
  });

  it('GW-018: codes that this era does not have never arrive', async () => {
    const codes = [-32_002, -32_042, -32_000, -32_001, -32_020, -32_021, -32_022, -32_050, -32_099];
    for (const code of codes) {
      const { message } = await client().whole('tools/call', {
        name: 'error',
        arguments: { code, message: 'odd' },
      });
      expect(message.error?.code, String(code)).toBe(-32_603);
    }
    for (const code of [-32_603, -32_602, -1, 0, 7]) {
      const { status, message } = await client().whole('tools/call', {
        name: 'error',
        arguments: { code, message: 'odd' },
      });
      expect(status).toBe(200);
      expect(message.error).toEqual({ code, message: 'odd' });
    }
  });

  it('GW-042: what the client can not be asked', async () => {
    const { status, message } = await client().whole('tools/call', {
      name: 'sample',
      arguments: {},
    });
    // This server lives with a refusal.
    expect(status).toBe(200);
    expect(textOf(message)).toContain('-32601');
    expect(message.result?.['resultType']).toBe('complete');
    const failed = await client().whole('tools/call', { name: 'must_sample', arguments: {} });
    expect(failed.status).toBe(400);
    expect(failed.message.error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { sampling: {} } },
    });
  });
});

describe('cancelling', () => {
  it('GW-034, trial 38: closing the stream cancels at the server', async () => {
    const pending = client().beginCall('hang', { v: 'closed' });
    const call = await journal.waitFor(({ raw }) => raw.includes('"closed"'));
    pending.exchange.destroy();
    await journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === call.id,
    );
  });

  it('GW-035: a POSTed cancel stops nothing', async () => {
    const pending = client().beginCall('hold', { key: 'mine' }, { id: 1 });
    await journal.waitForEvent('held:mine');
    const notice = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: enveloped({ requestId: 1 }),
    };
    const before = journal.messages('notifications/cancelled').length;
    for (const headers of [VERSION, {}]) {
      expect((await client().post(notice, headers).response()).status).toBe(202);
    }
    await client().call('release', { key: 'mine' });
    expect(textOf(await pending.answer)).toBe('held');
    expect(journal.messages('notifications/cancelled')).toHaveLength(before);
  });
});
