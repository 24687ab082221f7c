/**
 * Requests that a client sends on one connection before the ones ahead are answered (RFC 9112 9.3.2): each
 * has its turn, so nothing is asked for that would only be held.
 */
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { POST_HEADERS } from '../support/http-client.ts';
import type { LegacySession } from '../support/legacy-session.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';

const { harness, journal } = useScripted();

/** What is sent and what has come back on one connection. */
class Pipeline {
  readonly #session: LegacySession;
  readonly #socket: Socket;
  received = '';

  constructor(session: LegacySession) {
    const { hostname, port } = new URL(session.url);
    this.#session = session;
    this.#socket = connect(Number(port), hostname);
    this.#socket.setEncoding('utf8').on('data', (text: string) => {
      this.received += text;
    });
  }

  static requestOf(session: LegacySession, method: string, body = ''): string {
    const { host, pathname } = new URL(session.url);
    const headers = {
      ...POST_HEADERS,
      ...session.headers,
      host,
      'content-length': String(Buffer.byteLength(body)),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
  }

  /** Sends everything at once: a GET, or calls of tools. */
  send(
    ...what: readonly ('stream' | { readonly name: string; readonly arguments: object })[]
  ): void {
    const texts = what.map((one, at) =>
      one === 'stream'
        ? Pipeline.requestOf(this.#session, 'GET')
        : Pipeline.requestOf(
            this.#session,
            'POST',
            JSON.stringify({ jsonrpc: '2.0', id: `p${at}`, method: 'tools/call', params: one }),
          ),
    );
    this.#socket.write(texts.join(''));
  }

  close(): Promise<void> {
    this.#socket.destroy();
    return Promise.resolve();
  }
}

const reached = (mark: string): boolean => journal.messages().some(({ raw }) => raw.includes(mark));

it('each goes to the server when the one before is answered, all are answered in order', async () => {
  const [session, beside] = [await harness.session(), await harness.session()];
  const pipeline = harness.track(new Pipeline(session));
  pipeline.send(
    { name: 'hold', arguments: { key: 'ahead' } },
    { name: 'echo', arguments: { mark: 'behind-1' } },
    { name: 'echo', arguments: { mark: 'behind-2' } },
  );
  await journal.waitForEvent('held:ahead');
  await beside.call('echo', { mark: 'fence-1' });
  expect([reached('fence-1'), reached('behind-1')]).toEqual([true, false]);
  await beside.call('release', { key: 'ahead' });
  await until(() => pipeline.received.includes('behind-2'));
  const ids = [...pipeline.received.matchAll(/"id":"(p\d)"/g)].map(([, id]) => id);
  expect(ids).toEqual(['p0', 'p1', 'p2']);
});

it('nothing is done for those behind an event stream', async () => {
  const [session, beside] = [await harness.session(), await harness.session()];
  const pipeline = harness.track(new Pipeline(session));
  pipeline.send('stream', { name: 'echo', arguments: { mark: 'never' } });
  await until(() => pipeline.received.includes('text/event-stream'));
  await beside.call('echo', { mark: 'fence-2' });
  expect([reached('fence-2'), reached('never')]).toEqual([true, false]);
});
