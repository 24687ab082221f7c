/**
 * Streams of Streamable HTTP in the legacy versions: what appears on which, resumption, and the difference
 * between a dropped connection and a cancel.
 */
import { describe, expect, it } from 'vitest';
import type { HttpExchange } from '../support/http-client.ts';
import { LEGACY_VERSIONS, type LegacySession, type Pending } from '../support/legacy-session.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';
import { answers, hasMethod, textOf } from '../support/wire-message.ts';

const { harness, journal } = useScripted(scriptedServer());
const HTTP_VERSIONS = LEGACY_VERSIONS.filter((version) => version !== '2024-11-05');
const LIST_CHANGED = 'notifications/tools/list_changed';
const UPDATED = 'notifications/resources/updated';
const PROGRESS = 'notifications/progress';

let keys = 0;

/** Starts a call that the server holds until `release`; with a token its stream has started. */
async function hold(
  session: LegacySession,
  options: { token?: string | number; v?: string; id?: string | number } = {},
): Promise<{ key: string; pending: Pending; upstreamId: unknown }> {
  const key = `key-${++keys}`;
  const pending = session.beginCall(
    'hold',
    { key, v: options.v ?? 'held' },
    {
      ...(options.id === undefined ? {} : { id: options.id }),
      ...(options.token === undefined ? {} : { meta: { progressToken: options.token } }),
    },
  );
  await journal.waitForEvent(`held:${key}`);
  const seen = await journal.waitFor(({ raw }) => raw.includes(`"${key}"`));
  return { key, pending, upstreamId: seen.id };
}

async function openStream(session: LegacySession): Promise<HttpExchange> {
  const stream = session.openStream();
  expect((await stream.head).status).toBe(200);
  return stream;
}

/** Makes sure that everything the server sent before has been handled: one update comes behind it. */
async function fence(session: LegacySession, streams: readonly HttpExchange[]): Promise<void> {
  const uri = `test://fence-${++keys}`;
  await session.request('resources/subscribe', { uri });
  await session.call('touch', { uri });
  await until(() =>
    streams.some((stream) => stream.messages.all.some(({ params }) => params?.['uri'] === uri)),
  );
  await session.request('resources/unsubscribe', { uri });
}

describe.each(HTTP_VERSIONS)('a GET stream in a %s session', (version) => {
  it('GW-057 is SSE with the headers that proxies need', async () => {
    const session = await harness.session({ version });
    const { headers } = await (await openStream(session)).head;
    expect(headers['content-type']).toMatch(/^text\/event-stream/);
    expect(headers['cache-control']).toContain('no-cache');
    expect(headers['x-accel-buffering']).toBe('no');
  });

  it('GW-057 never carries the answer to a POST', async () => {
    const session = await harness.session({ version });
    const stream = await openStream(session);
    const { key, pending } = await hold(session, { token: 'x' });
    await session.call('release', { key });
    expect(textOf(await pending.answer)).toBe('held');
    await fence(session, [stream]);
    const { all } = stream.messages;
    expect(all.filter(({ method }) => method === undefined)).toEqual([]);
    expect(all.filter(hasMethod(PROGRESS))).toEqual([]);
  });

  it('GW-057 frames each message as the event `message` on one data line (trial 77)', async () => {
    const session = await harness.session({ version });
    const stream = await openStream(session);
    await fence(session, [stream]);
    const event = await stream.events.next((item) => (item.data ?? '').includes(UPDATED));
    expect(event.event ?? 'message').toBe('message');
    expect(event.data).not.toContain('\n');
  });

  it('GW-058 shares out one list_changed: it comes once over all streams', async () => {
    const session = await harness.session({ version });
    const streams = [await openStream(session), await openStream(session)];
    await session.call('list_change');
    const changes = (): unknown[] =>
      streams.flatMap((stream) => stream.messages.all.filter(hasMethod(LIST_CHANGED)));
    await until(() => changes().length > 0);
    await fence(session, streams);
    expect(changes()).toHaveLength(1);
  });

  it('GW-058 comes to every session once', async () => {
    const sessions = [await harness.session({ version }), await harness.session({ version })];
    const streams: HttpExchange[] = [];
    for (const session of sessions) streams.push(await openStream(session));
    await sessions[0]?.call('list_change');
    for (const stream of streams) await stream.messages.next(hasMethod(LIST_CHANGED));
    for (const [i, session] of sessions.entries()) await fence(session, streams.slice(i, i + 1));
    for (const stream of streams) {
      expect(stream.messages.all.filter(hasMethod(LIST_CHANGED))).toHaveLength(1);
    }
  });

  it('a change while no stream is open waits for the next one', async () => {
    const session = await harness.session({ version });
    await session.call('list_change');
    const stream = await openStream(session);
    await stream.messages.next(hasMethod(LIST_CHANGED));
  });

  it('a second GET leaves the server and the session alone (trial 10)', async () => {
    const session = await harness.session({ version });
    const before = textOf(await session.call('pid'));
    await openStream(session);
    await openStream(session);
    expect(textOf(await session.call('pid'))).toBe(before);
  });
});

describe('a POST stream', () => {
  it('GW-059 begins with an id and empty data in 2025-11-25', async () => {
    const session = await harness.session({ version: '2025-11-25' });
    const { exchange, answer } = session.beginCall('progress', {}, { meta: { progressToken: 1 } });
    await answer;
    const [first] = exchange.events.all;
    expect(first).toMatchObject({ data: '', id: expect.stringMatching(/./) });
  });

  it.each(['2024-11-05', '2025-03-26', '2025-06-18'])(
    'GW-059 has no event with empty data in %s, and neither has a GET stream',
    async (version) => {
      const session = await harness.session({ version });
      const stream = await openStream(session);
      const { exchange } = session.beginCall('progress', {}, { meta: { progressToken: 1 } });
      await exchange.response();
      await fence(session, [stream]);
      for (const { data } of [...exchange.events.all, ...stream.events.all]) {
        expect(data ?? '').not.toBe('');
      }
    },
  );

  it.each(HTTP_VERSIONS)(
    'GW-059 ends with the answer and has ids that are unique in %s',
    async (version) => {
      const session = await harness.session({ version });
      const ids: string[] = [];
      for (const token of [1, 2]) {
        const { exchange, id } = session.beginCall(
          'progress',
          {},
          { meta: { progressToken: token } },
        );
        const { headers } = await exchange.response();
        expect(headers['content-type']).toMatch(/^text\/event-stream/);
        expect(exchange.messages.all.at(-1)?.id).toBe(id);
        ids.push(...exchange.events.all.flatMap((event) => event.id ?? []));
      }
      expect(new Set(ids).size).toBe(ids.length);
    },
  );

  it('opens after a second of silence, so that proxies keep it', async () => {
    const session = await harness.session();
    const { key, pending } = await hold(session);
    const { headers } = await pending.exchange.head;
    expect(headers['content-type']).toMatch(/^text\/event-stream/);
    await session.call('release', { key });
    expect(textOf(await pending.answer)).toBe('held');
  });

  it('is plain JSON when the answer is the first thing to send', async () => {
    const session = await harness.session();
    const { exchange, answer } = session.beginCall('echo', { a: 1 });
    await answer;
    expect((await exchange.head).headers['content-type']).toMatch(/^application\/json/);
  });
});

describe.each(HTTP_VERSIONS)('a dropped POST stream in a %s session', (version) => {
  it('GW-060 is resumed by GET with Last-Event-ID: what was missed comes, and nothing else', async () => {
    const session = await harness.session({ version });
    const { key, pending } = await hold(session, { token: 'mine', v: 'resumed' });
    const other = await hold(session, { token: 'other' });
    const seen = await pending.exchange.events.next((event) => (event.data ?? '') !== '');
    expect(seen.id).toBeDefined();
    pending.exchange.destroy();
    await session.call('release', { key: other.key });
    expect(textOf(await other.pending.answer)).toBe('held');
    await session.call('release', { key });

    const resumed = session.openStream(seen.id);
    expect(textOf(await resumed.messages.next(answers(pending.id)))).toBe('resumed');
    const got = resumed.messages.all.map(({ id, params }) => id ?? params?.['progress']);
    expect(got).toEqual([2, pending.id]);
  });

  it('GW-060 is resumed before the answer exists', async () => {
    const session = await harness.session({ version });
    const { key, pending } = await hold(session, { token: 5, v: 'late' });
    const seen = await pending.exchange.events.next((event) => (event.data ?? '') !== '');
    pending.exchange.destroy();
    const resumed = session.openStream(seen.id);
    expect((await resumed.head).status).toBe(200);
    await session.call('release', { key });
    expect(textOf(await resumed.messages.next(answers(pending.id)))).toBe('late');
  });

  it('GW-060 cannot be resumed from another session', async () => {
    const [session, thief] = [
      await harness.session({ version }),
      await harness.session({ version }),
    ];
    const { key, pending } = await hold(session, { token: 5, v: 'secret' });
    const seen = await pending.exchange.events.next((event) => (event.data ?? '') !== '');
    pending.exchange.destroy();
    const stolen = thief.openStream(seen.id);
    await stolen.head;
    await session.call('release', { key });
    await fence(thief, [stolen]);
    expect(stolen.messages.all.filter(hasMethod(PROGRESS))).toEqual([]);
    expect(stolen.messages.all.some(answers(pending.id))).toBe(false);
  });

  it('GW-060 is resumed although its answer was written already, more than once', async () => {
    const session = await harness.session({ version });
    const { exchange, answer, id } = session.beginCall(
      'progress',
      { v: 'done' },
      { meta: { progressToken: 1 } },
    );
    await answer;
    const [first] = exchange.events.all.filter((event) => (event.data ?? '') !== '');
    for (let i = 0; i < 2; i++) {
      const resumed = session.openStream(first?.id);
      expect(textOf(await resumed.messages.next(answers(id)))).toBe('done');
      const steps = resumed.messages.all.map(({ params }) => params?.['progress']);
      expect(steps).toEqual([2, 3, undefined]);
    }
  });

  it('GW-060 is resumed while still attached: the newest connection wins', async () => {
    const session = await harness.session({ version });
    const { key, pending } = await hold(session, { token: 1, v: 'once' });
    const seen = await pending.exchange.events.next((event) => (event.data ?? '') !== '');
    const resumed = session.openStream(seen.id);
    expect((await resumed.head).status).toBe(200);
    await session.call('release', { key });
    expect(textOf(await resumed.messages.next(answers(pending.id)))).toBe('once');
    expect(pending.exchange.messages.all.some(answers(pending.id))).toBe(false);
  });

  it('GW-060 a GET stream is resumed too: what was missed comes once', async () => {
    const session = await harness.session({ version });
    const stream = await openStream(session);
    await session.request('resources/subscribe', { uri: 'test://seen' });
    await session.request('resources/subscribe', { uri: 'test://missed' });
    await session.call('touch', { uri: 'test://seen' });
    const seen = await stream.events.next((event) => (event.data ?? '').includes('test://seen'));
    expect(seen.id).toBeDefined();
    stream.destroy();
    await stream.events.ended;
    await session.call('touch', { uri: 'test://missed' });
    const resumed = session.openStream(seen.id);
    await resumed.messages.next(({ params }) => params?.['uri'] === 'test://missed');
    await fence(session, [resumed]);
    const uris = resumed.messages.all
      .filter(hasMethod(UPDATED))
      .map(({ params }) => params?.['uri']);
    expect(uris.filter((uri) => uri === 'test://missed')).toHaveLength(1);
    expect(uris).not.toContain('test://seen');
  });

  it('GW-060 an event id that nobody knows opens a plain stream', async () => {
    const session = await harness.session({ version });
    const stream = session.openStream('no-such-event');
    expect((await stream.head).status).toBe(200);
    await fence(session, [stream]);
  });

  it('GW-061 does not cancel the call', async () => {
    const session = await harness.session({ version });
    const { key, pending, upstreamId } = await hold(session, { token: 1 });
    await pending.exchange.events.next();
    pending.exchange.destroy();
    await session.request('ping');
    await session.call('pid');
    // The server still holds it, which it would not after a cancel.
    expect(textOf(await session.call('release', { key }))).toBe('released');
    const cancels = journal.messages('notifications/cancelled');
    expect(cancels.filter(({ params }) => params?.['requestId'] === upstreamId)).toEqual([]);
  });
});

it('GW-060 a stream of 2025-11-25 is resumed from its priming event', async () => {
  const session = await harness.session({ version: '2025-11-25' });
  const { key, pending } = await hold(session, { token: 1, v: 'all of it' });
  const priming = await pending.exchange.events.next();
  expect(priming.data).toBe('');
  pending.exchange.destroy();
  await session.call('release', { key });
  const resumed = session.openStream(priming.id);
  expect(textOf(await resumed.messages.next(answers(pending.id)))).toBe('all of it');
  const steps = resumed.messages.all.map(({ params }) => params?.['progress']);
  expect(steps).toEqual([1, 2, undefined]);
});

describe('a client that goes away', () => {
  it('harms nobody: others get their answers from the same process (trial 7)', async () => {
    const [a, b] = [await harness.session(), await harness.session()];
    const before = textOf(await b.call('pid'));
    const lost = await hold(a);
    const kept = await hold(b, { v: 'kept' });
    lost.pending.exchange.destroy();
    await b.call('release', { key: lost.key });
    await b.call('release', { key: kept.key });
    expect(textOf(await kept.pending.answer)).toBe('kept');
    expect(textOf(await b.call('pid'))).toBe(before);
  });
});

describe.each(LEGACY_VERSIONS)('a cancel in a %s session', (version) => {
  const cancelsOf = (upstreamId: unknown): unknown[] =>
    journal
      .messages('notifications/cancelled')
      .filter(({ params }) => params?.['requestId'] === upstreamId);

  it.each([7, 'seven', 0, ''])(
    'GW-062 of the call %j reaches the server under its id, and the POST ends empty (trial 28)',
    async (id) => {
      const session = await harness.session({ version });
      const { pending, upstreamId } = await hold(session, { id });
      const response = await session.cancel(id, 'no more');
      expect(response.status).toBe(202);
      await journal.waitFor(
        ({ method, params }) =>
          method === 'notifications/cancelled' && params?.['requestId'] === upstreamId,
      );
      const { status, headers } = await pending.exchange.response();
      expect(status).toBe(200);
      expect(headers['content-type']).toMatch(/^text\/event-stream/);
      expect(pending.exchange.messages.all).toEqual([]);
      expect(cancelsOf(upstreamId)).toHaveLength(1);
      expect(cancelsOf(upstreamId)).toMatchObject([{ params: { reason: 'no more' } }]);
    },
  );

  it('GW-062 of a call that streams ends its stream with no answer', async () => {
    const session = await harness.session({ version });
    const { pending, upstreamId } = await hold(session, { token: 'p' });
    await pending.exchange.messages.next(hasMethod(PROGRESS));
    await session.cancel(pending.id);
    await pending.exchange.response();
    expect(pending.exchange.messages.all.filter(answers(pending.id))).toEqual([]);
    await journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === upstreamId,
    );
  });

  it('GW-062 makes a late answer of the server vanish (trial 40)', async () => {
    const session = await harness.session({ version });
    const stream = await openStream(session);
    const key = `stubborn-${++keys}`;
    const pending = session.beginCall('hold', { key, ignoreCancel: true });
    await journal.waitForEvent(`held:${key}`);
    await session.cancel(pending.id);
    await pending.exchange.response();
    await session.call('release', { key });
    await fence(session, [stream]);
    expect(
      [...pending.exchange.messages.all, ...stream.messages.all].filter(answers(pending.id)),
    ).toEqual([]);
  });

  it('GW-063 of `initialize`, of an unknown and of a finished id has no effect', async () => {
    const session = await harness.session({ version });
    await session.call('echo', {}, { id: 'done' });
    const before = journal.messages('notifications/cancelled').length;
    for (const id of [0, 'unknown', 12345, 'done']) {
      expect((await session.cancel(id)).status).toBe(202);
    }
    const other = await harness.session({ version });
    const { key, pending } = await hold(other, { id: 'theirs' });
    expect((await session.cancel('theirs')).status).toBe(202);
    await session.call('release', { key });
    expect(textOf(await pending.answer)).toBe('held');
    expect(journal.messages('notifications/cancelled')).toHaveLength(before);
  });
});
