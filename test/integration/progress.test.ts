/**
 * Progress: each event reaches the call that it belongs to, under the caller's own token, before the
 * answer, and nothing else reaches anybody.
 */
import { describe, expect, it } from 'vitest';
import type { LegacySession, Pending } from '../support/legacy-session.ts';
import { useScripted } from '../support/use-gateway.ts';
import { answers, hasMethod, type Json, type MessageId, textOf } from '../support/wire-message.ts';

const { harness, journal } = useScripted();
const PROGRESS = 'notifications/progress';

/** Calls `progress`; @returns what came on the call's stream. */
async function progressOf(session: LegacySession, token: unknown, args = {}): Promise<Pending> {
  const pending = session.beginCall('progress', args, { meta: { progressToken: token } });
  await pending.exchange.response();
  return pending;
}

const eventsOf = ({ exchange }: Pending): unknown[] =>
  exchange.messages.all.filter(hasMethod(PROGRESS)).map(({ params }) => params);

const tokenOf = (params: Json | undefined): unknown =>
  (params?.['_meta'] as Json | undefined)?.['progressToken'];

const three = (token: MessageId): unknown[] =>
  [1, 2, 3].map((progress) => ({ progressToken: token, progress, total: 3 }));

describe('progress', () => {
  it.each([[1], ['abc'], [0], ['1'], [''], ['é"\\']])(
    'GW-090 comes with the token of the client, of the same type: %j (trial 34)',
    async (token) => {
      const session = await harness.session();
      const pending = await progressOf(session, token);
      expect(eventsOf(pending)).toEqual(three(token));
      expect(pending.exchange.messages.all.at(-1)?.id).toBe(pending.id);
    },
  );

  it('GW-090 of equal tokens of two clients, and of two calls, never mixes (trial 34)', async () => {
    const a = await harness.session();
    const b = await harness.session();
    const pending = await Promise.all([
      progressOf(a, 1, { ms: 5, count: 6, v: 'a1' }),
      progressOf(b, 1, { ms: 3, count: 7, v: 'b1' }),
      progressOf(a, 'abc', { ms: 4, count: 8, v: 'a2' }),
    ]);
    const tokens = [1, 1, 'abc'];
    for (const [i, call] of pending.entries()) {
      const count = 6 + i;
      expect(eventsOf(call)).toEqual(
        Array.from({ length: count }, (_, at) => ({
          progressToken: tokens[i],
          progress: at + 1,
          total: count,
        })),
      );
      expect(textOf(await call.answer)).toBe(['a1', 'b1', 'a2'][i]);
    }
  });

  it('GW-090 comes over WebSocket and HTTP+SSE, before the answer, to its caller only', async () => {
    const { ws, sse } = await harness.channels();
    const params = { name: 'progress', arguments: {}, _meta: { progressToken: 'same' } };
    await Promise.all([ws.request('tools/call', params, 9), sse.request('tools/call', params, 9)]);
    for (const client of [ws, sse]) {
      const seen = client.messages.all.slice(1);
      expect(seen.slice(0, 3).map((message) => message.params)).toEqual(three('same'));
      expect(seen[3]?.id).toBe(9);
      expect(seen).toHaveLength(4);
    }
  });

  it('GW-090 puts a token of its own upstream, unique among calls', async () => {
    const [a, b] = [await harness.session(), await harness.session()];
    for (const session of [a, b]) await progressOf(session, 'mine', { v: 'unique' });
    const sent = journal.messages('tools/call').filter(({ raw }) => raw.includes('"unique"'));
    const tokens = sent.map(({ params }) => tokenOf(params));
    expect(new Set(tokens).size).toBe(2);
    expect(tokens).not.toContain('mine');
  });

  it('GW-090 leaves the rest of _meta as it was', async () => {
    const session = await harness.session();
    const answer = await session.call('meta', {}, { meta: { a: 1, progressToken: 'x', b: [2] } });
    const meta = JSON.parse(textOf(answer)) as Record<string, unknown>;
    expect(meta).toEqual({ a: 1, progressToken: expect.anything(), b: [2] });
  });

  it('GW-091 without a token has none upstream either', async () => {
    const session = await harness.session();
    expect(textOf(await session.call('meta'))).toBe('none');
    expect(textOf(await session.call('progress'))).toBe('no token');
  });

  it('GW-091 after the answer is dropped (trial 36)', async () => {
    const session = await harness.session();
    const ws = await harness.webSocket();
    const pending = await progressOf(session, 1, { late: true });
    expect(eventsOf(pending)).toEqual(three(1));
    const params = { name: 'progress', arguments: { late: true }, _meta: { progressToken: 2 } };
    await ws.request('tools/call', params, 1);
    await ws.request('tools/call', { name: 'echo', arguments: {} }, 2);
    const after = ws.messages.all.slice(ws.messages.all.findIndex(answers(1)));
    expect(after.map(({ id }) => id)).toEqual([1, 2]);
  });

  it('GW-091 of an unknown token, or one of another type, reaches nobody', async () => {
    const ws = await harness.webSocket();
    const other = await harness.webSocket();
    const waiting = other.begin('tools/call', {
      name: 'hold',
      arguments: { key: 'guess' },
      _meta: { progressToken: 'theirs' },
    });
    await journal.waitForEvent('held:guess');
    await other.messages.next(hasMethod(PROGRESS));
    const upstream = (await journal.waitFor(({ raw }) => raw.includes('"key":"guess"'))).params;
    const token = tokenOf(upstream);
    for (const guess of ['theirs', String(token), 999_999, null, { a: 1 }, -1]) {
      const params = { progressToken: guess, progress: 50 };
      await ws.call('notify', { method: PROGRESS, params });
    }
    await ws.call('release', { key: 'guess' });
    await waiting.answer;
    expect(ws.messages.all.filter(hasMethod(PROGRESS))).toEqual([]);
    expect(other.messages.all.filter(hasMethod(PROGRESS)).map(({ params }) => params)).toEqual([
      { progressToken: 'theirs', progress: 1, total: 2 },
      { progressToken: 'theirs', progress: 2, total: 2 },
    ]);
  });
});
