/**
 * Clients and servers that send what nobody expects: it costs them an error, and nobody else anything.
 * Each of these once ended a gateway, or left a request without an answer.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { LegacySession, type SessionOptions } from '../support/legacy-session.ts';
import { ModernClient } from '../support/modern-client.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';
import type { WireMessage } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

/** String() of it throws. */
const NO_TEXT = { toString: 1, valueOf: 1 };
/** Read as an object it has a member with a broken key. */
const STRING = '\\":1 resource_link';

const one = scriptedServer();
const two = scriptedServer();
const harness = useGateway(() => ({ servers: { one: one.config, two: two.config } }));

async function open(path: string, options: SessionOptions = {}): Promise<LegacySession> {
  return harness.track(await LegacySession.open(harness.gateway.url + path, options));
}

async function webSocket(): Promise<WsClient> {
  const client = harness.track(await WsClient.connect(`${harness.gateway.url}/ws`));
  await client.initialize();
  return client;
}

afterEach(async () => {
  const session = await open('/mcp');
  expect((await session.call('two__echo', {})).result).toBeDefined();
  expect(one.journal.starts).toHaveLength(1);
  expect(JSON.stringify(harness.gateway.logs())).not.toContain('uncaught');
});

describe('a client that', () => {
  it.each(['ws', 'mcp'] as const)('names a string as what it completes, over %s', async (way) => {
    const params = { ref: STRING, argument: { name: 'a', value: 'b' } };
    const client = way === 'ws' ? await webSocket() : await open('/mcp');
    expect((await client.request('completion/complete', params)).error?.code).toBe(-32602);
  });

  it('completes what is another thing to other readers', async () => {
    const ref = { type: 'ref/prompt\0', name: 'prompt', uri: 'test://one' };
    const params = { ref, argument: { name: 'a', value: 'b' } };
    const session = await open('/mcp');
    expect((await session.request('completion/complete', params)).error?.code).toBe(-32602);
    expect(one.journal.messages('completion/complete')).toEqual([]);
  });

  it('answers a server request with an action that is no text', async () => {
    const client = harness.track(
      new ModernClient(harness.url('one'), { elicitation: { form: {} } }),
    );
    const asked = await client.call('ask', {});
    const answer = async (to: WireMessage, action: unknown): Promise<WireMessage> => {
      const { inputRequests, requestState } = to.result ?? {};
      const [key = ''] = Object.keys(inputRequests as object);
      const inputResponses = { [key]: { action } };
      const params = { name: 'ask', arguments: {}, inputResponses, requestState };
      return await client.request('tools/call', params, { headers: { 'mcp-name': 'ask' } });
    };
    const again = await answer(asked, NO_TEXT);
    expect(again.result?.['resultType']).toBe('input_required');
    expect((await answer(again, 'decline')).result?.['resultType']).toBe('complete');
  });
});

describe('a server that', () => {
  it('tells of a task whose id is no text', async () => {
    const session = await open('/servers/one/mcp');
    const params = { taskId: NO_TEXT, status: 'working' };
    const args = { method: 'notifications/tasks/status', params };
    expect((await session.call('notify', args)).result).toBeDefined();
  });

  it.each([
    ['an address that is no text', { type: 'resource_link', name: 'a', uri: NO_TEXT }],
    ['a name that is no text', { type: 'resource_link', name: NO_TEXT, uri: 'test://one' }],
  ])('links to %s', async (_what, link) => {
    for (const path of ['/servers/one/mcp', '/mcp']) {
      const session = await open(path, { version: '2024-11-05' });
      const name = path === '/mcp' ? 'one__result' : 'result';
      const answer = await session.call(name, { result: { content: [link] } });
      expect(answer.error ?? answer.result).toBeDefined();
    }
  });

  it.each(['_meta', 'structuredContent', 'content', 'inputRequests'])(
    'has a string as %s of a result',
    async (member) => {
      for (const version of ['2024-11-05', '2025-11-25']) {
        const session = await open('/mcp', { version });
        const answer = await session.call('one__result', { result: { [member]: STRING } });
        expect(answer.error ?? answer.result).toBeDefined();
      }
    },
  );
});
