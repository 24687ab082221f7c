// A legacy server's requests to a modern client: rounds with a sealed state, whatever the client
// does with them (docs/protocol.md#suspended-calls).
import { describe, expect, it } from 'vitest';
import { ModernClient, serverRequestsOf } from '../support/modern-client.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';
import { type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const one = scriptedServer();
const two = scriptedServer();
const harness = useGateway(() => ({ servers: { one: one.config, two: two.config } }));
const { journal } = one;

const ALL: Json = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const client = (capabilities: Json = ALL, server = 'one'): ModernClient =>
  harness.track(new ModernClient(harness.url(server), capabilities));
const accept = (answer: string): Json => ({ action: 'accept', content: { answer } });

/** Calls of a tool that the server has seen with `v`. */
const seen = (v: string): unknown[] =>
  journal.messages('tools/call').filter(({ raw }) => raw.includes(JSON.stringify(v)));

/** Gives all answers, so that nothing stays suspended. */
async function finish(
  by: ModernClient,
  name: string,
  args: Json,
  round: WireMessage,
): Promise<WireMessage> {
  const keys = Object.keys(serverRequestsOf(round));
  const answers = Object.fromEntries(keys.map((key) => [key, accept('done')]));
  return await by.retry(name, args, round, answers);
}

describe('a server request', () => {
  it('GW-112, trial 50: is asked and answered in one call at the server', async () => {
    const by = client();
    const round = await by.call('ask', { v: 'GW-112' });
    const serverRequests = serverRequestsOf(round);
    const [key = ''] = Object.keys(serverRequests);
    expect(Object.values(serverRequests)).toMatchObject([
      { method: 'elicitation/create', params: { mode: 'form', message: 'GW-112' } },
    ]);
    expect(round.result?.['requestState']).toEqual(expect.any(String));
    const answer = await by.retry('ask', { v: 'GW-112' }, round, { [key]: accept('42') });
    expect(answer.result).toMatchObject({ resultType: 'complete' });
    expect(JSON.parse(textOf(answer))).toEqual({ v: 'GW-112', reply: { result: accept('42') } });
    expect(seen('GW-112')).toHaveLength(1);
  });

  it('GW-113: two in turn need two rounds, two at once come in one', async () => {
    const by = client();
    const args = { sequential: true, v: 'turn' };
    const first = await by.call('two_asks', args);
    const [a = ''] = Object.keys(serverRequestsOf(first));
    const second = await by.retry('two_asks', args, first, { [a]: accept('1') });
    const [b = ''] = Object.keys(serverRequestsOf(second));
    expect(b).not.toBe(a);
    const last = await by.retry('two_asks', args, second, { [b]: accept('2') });
    expect(textOf(last)).toContain('"answer":"2"');

    const both = await by.call('two_asks', { v: 'once' });
    expect(Object.keys(serverRequestsOf(both))).toHaveLength(2);
    expect((await finish(by, 'two_asks', { v: 'once' }, both)).result).toHaveProperty('content');
    expect(seen('turn')).toHaveLength(1);
  });

  it('sampling and roots are asked, too', async () => {
    const by = client();
    const sampling = await by.call('sample', { v: 'question' });
    const [s = ''] = Object.keys(serverRequestsOf(sampling));
    const message = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };
    const sampled = await by.retry('sample', { v: 'question' }, sampling, { [s]: message });
    expect(textOf(sampled)).toContain('"text":"yes"');
    const url = await by.call('ask_url');
    const [serverRequest] = Object.values(serverRequestsOf(url));
    expect(serverRequest?.params).toMatchObject({ mode: 'url', url: 'https://example.com/go' });
    expect(serverRequest?.params).not.toHaveProperty('elicitationId');
    await finish(by, 'ask_url', {}, url);
  });

  it('GW-114: what is missing or malformed is asked again', async () => {
    const by = client();
    const args = { v: 'GW-114' };
    const round = await by.call('two_asks', args);
    const [a = '', b = ''] = Object.keys(serverRequestsOf(round));
    const again = await by.retry('two_asks', args, round, {
      [a]: accept('1'),
      [b]: { action: 'dance' },
      unknown: 1,
    });
    expect(Object.keys(serverRequestsOf(again))).toEqual([b]);
    expect(again.result?.['requestState']).not.toBe(round.result?.['requestState']);
    const stillAgain = await by.retry('two_asks', args, again, undefined);
    expect(Object.keys(serverRequestsOf(stillAgain))).toEqual([b]);
    const bad = by.retry('two_asks', args, stillAgain, [1] as unknown as Json);
    expect((await bad).error).toMatchObject({ code: -32_602 });
    expect((await finish(by, 'two_asks', args, stillAgain)).result).toHaveProperty('content');
    expect(seen('GW-114')).toHaveLength(1);
  });

  it('GW-115: a state that is not for this request executes nothing', async () => {
    const by = client();
    const args = { v: 'GW-115' };
    const round = await by.call('ask', args);
    const state = String(round.result?.['requestState']);
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const inputResponses = { [key]: accept('stolen') };
    const calls: readonly (readonly [string, Json, ModernClient])[] = [
      ['ask', { name: 'ask', arguments: args, requestState: flipped(state), inputResponses }, by],
      ['ask', { name: 'ask', arguments: args, requestState: 'v1.AAAA', inputResponses }, by],
      ['ask', { name: 'ask', arguments: args, requestState: '', inputResponses }, by],
      ['ask', { name: 'ask', arguments: args, requestState: 7, inputResponses }, by],
      ['ask', { name: 'ask', arguments: args, inputResponses }, by],
      ['ask', { name: 'ask', arguments: { v: 'else' }, requestState: state, inputResponses }, by],
      ['count', { name: 'count', arguments: args, requestState: state, inputResponses }, by],
      [
        'ask',
        { name: 'ask', arguments: args, requestState: state, inputResponses },
        client(ALL, 'two'),
      ],
    ];
    const before = journal.messages().length;
    for (const [, params, other] of calls) {
      const { status, message } = await other.whole('tools/call', params);
      expect({ status, code: message.error?.code }, JSON.stringify(params)).toEqual({
        status: 200,
        code: -32_602,
      });
    }
    expect(journal.messages()).toHaveLength(before);
    expect(two.journal.messages('tools/call')).toEqual([]);
    expect(textOf(await by.retry('ask', args, round, inputResponses))).toContain('stolen');
  });

  it('GW-116: an answer that is sent twice reaches the server once', async () => {
    const by = client();
    const args = { v: 'GW-116' };
    const round = await by.call('ask', args);
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const answers = [1, 2].map(() => by.retry('ask', args, round, { [key]: accept('once') }));
    for (const { result, error } of await Promise.all(answers)) {
      if (result === undefined) expect(error).toMatchObject({ code: -32_602 });
      else expect(result).toHaveProperty('content');
    }
    const late = await by.retry('ask', args, round, { [key]: accept('other') });
    expect(late.error).toMatchObject({ code: -32_602 });
    const replies = journal.messages().filter(({ raw }) => raw.includes('"answer":"once"'));
    expect(replies).toHaveLength(1);
    expect(journal.pidsOf('unexpected-response')).toEqual([]);
  });

  it('GW-118: what the envelope does not declare is not asked', async () => {
    for (const [tool, capabilities] of [
      ['ask', { sampling: {}, roots: {} }],
      ['ask_url', { elicitation: { form: {} } }],
      ['sample', { elicitation: {} }],
    ] as const) {
      const { result } = await client(capabilities).call(tool);
      expect(result?.['resultType'], tool).toBe('complete');
    }
  });

  it('GW-119: lists never ask', async () => {
    const by = client();
    const asked = await by.call('ask', { v: 'GW-119' });
    for (const method of ['tools/list', 'prompts/list', 'resources/list']) {
      expect((await by.request(method)).result?.['resultType']).toBe('complete');
    }
    await finish(by, 'ask', { v: 'GW-119' }, asked);
  });

  it('reaches the client whose call it is, one interactive call after the other', async () => {
    const open = new Map(
      ['of a', 'of b'].map((v) => {
        const by = client();
        return [v, by.call('ask', { v }).then((round) => ({ v, by, round }))];
      }),
    );
    while (open.size > 0) {
      const { v, by, round } = await Promise.race(open.values());
      open.delete(v);
      expect(Object.values(serverRequestsOf(round))[0]?.params?.['message']).toBe(v);
      expect(textOf(await finish(by, 'ask', { v }, round))).toContain(v);
    }
  });

  it('is dropped when the server takes it back', async () => {
    const by = client();
    const args = { v: 'GW-taken', ms: 300 };
    const round = await by.call('ask_cancel', args);
    await journal.waitFor(({ raw }) => raw.includes('GW-taken'));
    expect(textOf(await finish(by, 'ask_cancel', args, round))).toBe('taken back');
  });

  it('ends with the stream of the retry', async () => {
    const by = client();
    const args = { v: 'GW-gone' };
    const round = await by.call('ask_hang', args);
    const [key = ''] = Object.keys(serverRequestsOf(round));
    const pending = by.begin('tools/call', {
      name: 'ask_hang',
      arguments: args,
      requestState: round.result?.['requestState'],
      inputResponses: { [key]: accept('x') },
    });
    await journal.waitForEvent('answered:GW-gone');
    pending.exchange.destroy();
    const call = await journal.waitFor(({ raw }) => raw.includes('GW-gone'));
    await journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === call.id,
    );
  });
});

describe('a URL that the server needs visited', () => {
  it('GW-131: -32042 becomes a server request, and the retry a new call', async () => {
    const by = client();
    const before = journal.messages('tools/call').length;
    const round = await by.call('url_error', { v: 'GW-131' });
    const [[key = '', serverRequest] = []] = Object.entries(serverRequestsOf(round));
    expect(serverRequest).toEqual({
      method: 'elicitation/create',
      params: { mode: 'url', url: 'https://example.com/go', message: 'Go there' },
    });
    const again = await by.retry('url_error', { v: 'GW-131' }, round, {
      [key]: { action: 'accept' },
    });
    expect(serverRequestsOf(again)).toBeDefined();
    expect(journal.messages('tools/call')).toHaveLength(before + 2);
    const [next = ''] = Object.keys(serverRequestsOf(again));
    const declined = await by.retry('url_error', { v: 'GW-131' }, again, {
      [next]: { action: 'decline' },
    });
    expect(declined.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(journal.messages('tools/call')).toHaveLength(before + 2);
  });

  it('GW-131: a client without url elicitation learns what it lacks', async () => {
    const { status, message } = await client({ elicitation: {} }).whole('tools/call', {
      name: 'url_error',
      arguments: {},
    });
    expect(status).toBe(400);
    expect(message.error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { elicitation: { url: {} } } },
    });
  });
});

/** The same text with one character in the middle changed. */
function flipped(state: string): string {
  const middle = Math.floor(state.length / 2);
  return `${state.slice(0, middle)}${state[middle] === 'A' ? 'B' : 'A'}${state.slice(middle + 1)}`;
}
