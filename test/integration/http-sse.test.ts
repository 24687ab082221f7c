/**
 * The HTTP+SSE transport of 2024-11-05: the stream is the session, POSTs answer 202, everything comes
 * back on the stream, and closing it ends the calls.
 */
import { describe, expect, it } from 'vitest';
import { send } from '../support/http-client.ts';
import { LEGACY_VERSIONS } from '../support/legacy-session.ts';
import { SseClient } from '../support/sse-client.ts';
import { useScripted } from '../support/use-gateway.ts';
import { answers, textOf } from '../support/wire-message.ts';

const { harness, journal } = useScripted();
const sseUrl = (): string => harness.gateway.endpoint('one', 'sse');
const JSON_TYPE = { 'content-type': 'application/json' };
const PING = '{"jsonrpc":"2.0","id":"p","method":"ping"}';

describe('GET', () => {
  it('GW-075 begins with the event endpoint, a path on the same origin with a secret', async () => {
    const client = await harness.sse();
    const { event, data = '' } = client.endpointEvent;
    expect(event).toBe('endpoint');
    expect(data).toMatch(/^\/servers\/one\/messages\?sessionId=[\w-]{22,}$/);
    expect(new URL(client.postUrl).origin).toBe(harness.gateway.url);
    const { headers, status } = await client.stream.head;
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/event-stream/);
    expect(headers['x-accel-buffering']).toBe('no');
  });

  it('GW-075 names another secret each time', async () => {
    const first = await harness.sse();
    const second = await harness.sse();
    expect(first.postUrl).not.toBe(second.postUrl);
  });

  it('GW-075 is served under the short paths too, since there is one server', async () => {
    const client = harness.track(await SseClient.open(`${harness.gateway.url}/sse`));
    expect(client.endpointEvent.data).toMatch(/^\/messages\?sessionId=/);
    await client.initialize({ version: '2024-11-05' });
    expect(textOf(await client.call('echo', { a: 1 }))).toBe('{"a":1}');
  });
});

describe('POST', () => {
  it.each(LEGACY_VERSIONS)(
    'GW-076 answers 202, and the response is an event message on the stream (%s)',
    async (version) => {
      const client = await harness.sse({ version });
      const posted = await client.postText(
        '{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"echo","arguments":{"a":"b\\nc"}}}',
      );
      expect(posted.status).toBe(202);
      expect(posted.text).not.toContain('jsonrpc');
      const answer = await client.messages.next(answers('é'));
      expect(textOf(answer)).toBe('{"a":"b\\nc"}');
      const frame = client.stream.events.all.find(({ data }) => data === answer.raw);
      expect(frame?.event).toBe('message');
      expect(answer.raw).not.toContain('\n');
    },
  );

  it('GW-076 answers 202 to notifications and responses', async () => {
    const client = await harness.sse();
    for (const text of [
      '{"jsonrpc":"2.0","method":"notifications/unknown"}',
      '{"jsonrpc":"2.0","id":77,"result":{}}',
    ]) {
      expect((await client.postText(text)).status).toBe(202);
    }
    expect((await client.request('ping')).result).toEqual({});
  });

  it('GW-077 without a session is 400, with an unknown one 404', async () => {
    const client = await harness.sse();
    const base = client.postUrl.replace(/\?.*/, '');
    const statusOf = async (query: string): Promise<number> => {
      const options = { method: 'POST', headers: JSON_TYPE, body: PING };
      return (await send(`${base}${query}`, options)).status;
    };
    expect(await statusOf('')).toBe(400);
    expect(await statusOf('?sessionId=')).toBe(400);
    for (const id of ['nope', 'toString', '__proto__', 'constructor']) {
      expect(await statusOf(`?sessionId=${id}`)).toBe(404);
    }
    await client.close();
    expect((await client.postText(PING)).status).toBe(404);
  });

  it('of broken JSON is 400, of another type 415, and the stream lives on', async () => {
    const client = await harness.sse();
    const broken = await client.postText('{bad json');
    expect(broken.status).toBe(400);
    expect(broken.json()).toMatchObject({ error: { code: -32700 } });
    expect((await client.postText('{"foo":1}')).status).toBe(400);
    const typed = await send(client.postUrl, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: PING,
    });
    expect(typed.status).toBe(415);
    expect((await client.request('ping')).result).toEqual({});
  });

  it('of a message before initialize is refused, except ping', async () => {
    const client = harness.track(await SseClient.open(sseUrl()));
    expect((await client.request('ping')).result).toEqual({});
    expect((await client.request('tools/list')).error?.code).toBe(-32600);
  });

  it('of a second request with an id in flight is refused with -32600 (trial 27)', async () => {
    const client = await harness.sse();
    const first = client.begin('tools/call', { name: 'hold', arguments: { key: 'dup' } }, 5);
    await journal.waitForEvent('held:dup');
    await client.postText('{"jsonrpc":"2.0","id":5,"method":"tools/list"}');
    expect((await first.answer).error?.code).toBe(-32600);
    await client.call('release', { key: 'dup' });
    expect(textOf(await client.messages.next(answers(5)))).toBe('held');
  });
});

describe('the stream', () => {
  it('GW-078 when closed cancels the calls of its client, and of nobody else', async () => {
    const gone = await harness.sse();
    const stays = await harness.sse();
    gone.begin('tools/call', { name: 'hold', arguments: { key: 'gone' } }, 7);
    const waiting = stays.begin('tools/call', { name: 'hold', arguments: { key: 'stays' } }, 7);
    await journal.waitForEvent('held:gone');
    await journal.waitForEvent('held:stays');
    const seen = await journal.waitFor(({ raw }) => raw.includes('"key":"gone"'));
    gone.stream.destroy();
    const cancel = await journal.waitFor(
      ({ method, params }) =>
        method === 'notifications/cancelled' && params?.['requestId'] === seen.id,
    );
    expect(cancel.pid).toBe(seen.pid);
    await stays.call('release', { key: 'stays' });
    expect(textOf(await waiting.answer)).toBe('held');
    const cancels = journal.messages('notifications/cancelled');
    expect(cancels.filter(({ params }) => params?.['requestId'] === seen.id)).toHaveLength(1);
  });

  it('two of them at once both work, on one process (trials 8, 26)', async () => {
    const a = await harness.sse();
    const b = await harness.sse();
    const slow = a.call('slow', { ms: 100, v: 'AAA' }, 7);
    const fast = b.call('slow', { ms: 10, v: 'BBB' }, 7);
    expect(textOf(await slow)).toBe('AAA');
    expect(textOf(await fast)).toBe('BBB');
    expect(textOf(await a.call('pid'))).toBe(textOf(await b.call('pid')));
  });
});
