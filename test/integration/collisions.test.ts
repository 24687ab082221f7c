/**
 * Tools that ask, called by several clients of a shared server at once: the first collision may cost the
 * calls that are in it, later calls wait for each other (docs/protocol.md#attribution, docs/adr/0004).
 */
import { describe, expect, it } from 'vitest';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import type { Journal } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { type GatewayUnderTest, useScripted } from '../support/use-gateway.ts';
import { type Json, textOf, type WireMessage } from '../support/wire-message.ts';
import type { WsClient } from '../support/ws-client.ts';

const CAPABILITIES = { elicitation: { form: {} }, sampling: {} };
const UNATTRIBUTABLE = { error: { code: -32603, data: { reason: 'unattributable' } } };

const isServerRequest = ({ id, method }: WireMessage): boolean =>
  id !== undefined && (method === 'elicitation/create' || method === 'sampling/createMessage');

const connect = (harness: GatewayUnderTest): Promise<WsClient> =>
  harness.webSocket({ capabilities: CAPABILITIES });

/** Calls a tool that asks. @returns what the server was answered with */
async function call(client: WsClient, tool: string): Promise<unknown> {
  const answer = await client.call(tool, { v: 'Which?' });
  return (JSON.parse(textOf(answer)) as Json)['reply'];
}

/** The same, with a user who answers `own`. */
async function callAndAnswer(client: WsClient, tool: string, own: string): Promise<unknown> {
  const reply = call(client, tool);
  const serverRequest = await client.messages.next(isServerRequest, 30_000);
  client.respond(serverRequest.id, { own });
  return await reply;
}

/** Has the server get all of `calls` before it can ask a server request. */
async function collide<T>(
  harness: GatewayUnderTest,
  journal: Journal,
  calls: readonly (() => Promise<T>)[],
): Promise<Promise<T>[]> {
  const pid = await journal.waitForEvent('start');
  process.kill(pid, 'SIGSTOP');
  try {
    const replies = calls.map((begin) => begin());
    await untilSum(harness, 'sluice_requests_in_flight', {}, calls.length);
    return replies;
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

async function untilSum(
  harness: GatewayUnderTest,
  name: string,
  labels: Readonly<Record<string, string>>,
  sum: number,
): Promise<void> {
  const { adminUrl } = harness.gateway;
  const probe = async () => metricSum(await fetchMetrics(adminUrl), name, labels) === sum;
  await until(probe, { what: `${name} of ${sum}` });
}

const serverRequestsOf = (client: WsClient): WireMessage[] =>
  client.messages.all.filter(isServerRequest);

describe('a collision of calls of one tool', () => {
  const { harness, journal } = useScripted();

  it('GW-096 asks nobody, and costs no call that comes after it', async () => {
    const first = [await connect(harness), await connect(harness), await connect(harness)];
    const late = await connect(harness);
    const calls = first.map((client) => () => call(client, 'ask'));
    const replies = await collide(harness, journal, calls);
    const serverRequests = { direction: 'from_server', kind: 'requests' };
    await untilSum(harness, 'sluice_messages_total', serverRequests, first.length);
    const lateReply = callAndAnswer(late, 'ask', 'late');
    for (const reply of await Promise.all(replies)) expect(reply).toMatchObject(UNATTRIBUTABLE);
    for (const client of first) expect(serverRequestsOf(client)).toEqual([]);
    expect(await lateReply).toEqual({ result: { own: 'late' } });
    const again = [...first, late].map(async (client, i) => {
      expect(await callAndAnswer(client, 'ask', `again-${i}`)).toEqual({
        result: { own: `again-${i}` },
      });
    });
    await Promise.all(again);
  });
});

describe('a collision of calls of several tools', () => {
  const { harness, journal } = useScripted();

  it('GW-096 has each of them wait until it is clear which one asks', async () => {
    const [a, b, c] = [await connect(harness), await connect(harness), await connect(harness)];
    const calls = [() => call(a, 'ask'), () => call(b, 'sample')];
    const replies = await collide(harness, journal, calls);
    for (const reply of await Promise.all(replies)) expect(reply).toMatchObject(UNATTRIBUTABLE);
    const together = [callAndAnswer(a, 'sample', 'a'), callAndAnswer(b, 'ask', 'b')];
    expect(textOf(await c.call('echo', { v: 'c' }))).toContain('c');
    expect(await Promise.all(together)).toEqual([
      { result: { own: 'a' } },
      { result: { own: 'b' } },
    ]);
    expect(serverRequestsOf(c)).toEqual([]);
  });
});

describe('a server request that its user takes long to answer', () => {
  const { harness, journal } = useScripted();

  it('GW-096 keeps calls of the same tool from the server, the first server request of all too', async () => {
    const [a, b] = [await connect(harness), await connect(harness)];
    const slow = call(a, 'ask');
    const serverRequest = await a.messages.next(isServerRequest);
    const waiting = callAndAnswer(b, 'ask', 'b');
    await untilSum(harness, 'sluice_queue_depth', {}, 1);
    a.respond(serverRequest.id, { own: 'a' });
    expect(await slow).toEqual({ result: { own: 'a' } });
    expect(await waiting).toEqual({ result: { own: 'b' } });
    expect(journal.messages('tools/call')).toHaveLength(2);
  });
});

describe('a tool that asks nothing, and was near a server request that nobody could be given', () => {
  const { harness, journal } = useScripted();

  it('does not wait until another client has answered its server request', async () => {
    const [a, b] = [await connect(harness), await connect(harness)];
    // It is known for what it is before.
    for (let at = 0; at < 8; at++) await b.call('slow', { ms: 0 });
    const calls = [() => call(a, 'ask'), () => b.call('slow', { ms: 11_000 })];
    const [reply, slow] = await collide<unknown>(harness, journal, calls);
    expect(await reply).toMatchObject(UNATTRIBUTABLE);
    await slow;
    const again = call(a, 'ask');
    const serverRequest = await a.messages.next(isServerRequest);
    expect(await b.call('slow', { ms: 0 })).toHaveProperty('result');
    a.respond(serverRequest.id, { own: 'a' });
    expect(await again).toEqual({ result: { own: 'a' } });
  });
});
