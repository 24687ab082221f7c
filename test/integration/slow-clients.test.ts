/**
 * A client that does not read loses its own stream, after a bounded buffer; nobody else notices.
 */
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { deafPost } from '../support/deaf-post.ts';
import { POST_HEADERS, send } from '../support/http-client.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { enveloped } from '../support/modern-envelope.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';
import { textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

/** A client that stops reading once it has the head of an event stream. */
class StalledStream {
  readonly socket: Socket;
  readonly #head: string;

  private constructor(socket: Socket, head: string) {
    this.socket = socket;
    this.#head = head;
  }

  static async open(
    url: string,
    headers: Readonly<Record<string, string>>,
    until_: RegExp,
  ): Promise<StalledStream> {
    const { hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname);
    const all = Object.entries({
      host: `${hostname}:${port}`,
      accept: 'text/event-stream',
      ...headers,
    });
    const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`GET ${pathname} HTTP/1.1\r\n${lines}\r\n`);
    let head = '';
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('data', (chunk: Buffer) => {
        head += chunk.toString('utf8');
        if (!until_.test(head)) return;
        socket.pause();
        resolve();
      });
    });
    socket.removeAllListeners('data');
    socket.on('error', () => undefined);
    return new StalledStream(socket, head);
  }

  match(pattern: RegExp): string {
    return pattern.exec(this.#head)?.[1] ?? '';
  }

  close(): Promise<void> {
    this.socket.destroy();
    return Promise.resolve();
  }
}

describe('a client that does not read', () => {
  const { harness } = useScripted();
  const cuts = async (transport: string): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_slow_consumers_total', {
      transport,
    });

  /** Calls `fill` until the client's stream is cut. */
  async function fillUntilCut(transport: string, fill: () => Promise<unknown>): Promise<void> {
    const before = await cuts(transport);
    for (let i = 0; (await cuts(transport)) === before; i++) {
      if (i > 60) throw new Error(`${transport} was not cut after ${i} MB`);
      await fill();
    }
  }

  it('loses its HTTP+SSE stream; the others and the server go on', async () => {
    const beside = await harness.webSocket();
    const url = harness.gateway.endpoint('one', 'sse');
    const stalled = harness.track(await StalledStream.open(url, {}, /data: \S+\n/));
    const messages = new URL(stalled.match(/data: (\S+)/), url).href;
    const say = (body: unknown): Promise<{ status: number }> => {
      const headers = { 'content-type': 'application/json' };
      return send(messages, { method: 'POST', headers, body: JSON.stringify(body) });
    };
    await say(initializeRequest());
    let id = 1;
    await fillUntilCut('sse', async () => {
      const params = { name: 'big', arguments: { n: 1_000_000 } };
      await say({ jsonrpc: '2.0', id: id++, method: 'tools/call', params });
      expect(textOf(await beside.call('echo', {}))).toBe('{}');
    });
    expect((await say({ jsonrpc: '2.0', method: 'notifications/x' })).status).toBe(404);
    expect(textOf(await beside.call('echo', {}))).toBe('{}');
  });

  it('loses its WebSocket; the others and the server go on', async () => {
    const beside = await harness.webSocket();
    const stalled = await WsClient.connect(harness.gateway.endpoint('one', 'ws'));
    await stalled.initialize();
    stalled.socket.pause();
    let id = 1;
    await fillUntilCut('websocket', async () => {
      stalled.begin('tools/call', { name: 'big', arguments: { n: 1_000_000 } }, id++);
      expect(textOf(await beside.call('echo', {}))).toBe('{}');
    });
    stalled.socket.resume();
    expect([1006, 1008, 1013]).toContain(await stalled.closed);
  });

  it('loses its GET stream, not its session; the others and the server go on', async () => {
    const beside = await harness.webSocket();
    const session = await harness.session();
    const prefix = 'test://slow/';
    await session.request('resources/subscribe', { uri: prefix });
    harness.track(await StalledStream.open(session.url, session.headers, /\r\n\r\n/));
    let n = 0;
    await fillUntilCut('streamable-http', async () => {
      const touches = Array.from({ length: 60 }, () =>
        beside.call('touch', { uri: `${prefix}${++n}/${'x'.repeat(15_000)}` }),
      );
      await Promise.all(touches);
    });
    expect(textOf(await session.call('echo', {}))).toBe('{}');
    const stream = session.openStream();
    expect((await stream.head).status).toBe(200);
    await beside.call('touch', { uri: `${prefix}last` });
    await stream.messages.next(({ params }) => params?.['uri'] === `${prefix}last`);
  });
});

/** More than the system takes off the gateway's hands for a client that does not read. */
const LARGE = { name: 'big', arguments: { n: 15_000_000 } };
/** Of these. The system notices how far a reader has come only every few megabytes. */
const TAKEN_A_SECOND = 256 * 1024;

describe('one large answer to a client that does not read', () => {
  const { harness } = useScripted();
  const legacy = (accept: string) => async (): Promise<Socket> => {
    const session = await harness.session();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'tools/call', params: LARGE });
    return await deafPost(session.url, { ...POST_HEADERS, ...session.headers, accept }, body);
  };
  const modern = async (): Promise<Socket> => {
    const params = enveloped(LARGE);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'm', method: 'tools/call', params });
    const mirrored = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'big',
    };
    return await deafPost(harness.url(), { ...POST_HEADERS, ...mirrored }, body);
  };
  const sse = async (): Promise<Socket> => {
    const url = harness.gateway.endpoint('one', 'sse');
    const stalled = await StalledStream.open(url, {}, /data: \S+\n/);
    const messages = new URL(stalled.match(/data: (\S+)/), url).href;
    const headers = { 'content-type': 'application/json' };
    const call = { jsonrpc: '2.0', id: 'l', method: 'tools/call', params: LARGE };
    for (const body of [initializeRequest(), call]) {
      await send(messages, { method: 'POST', headers, body: JSON.stringify(body) });
    }
    return stalled.socket;
  };
  const webSocket = async (): Promise<Socket> => {
    const client = await WsClient.connect(harness.gateway.endpoint('one', 'ws'));
    await client.initialize();
    client.socket.pause();
    client.begin('tools/call', LARGE);
    return (client.socket as unknown as { _socket: Socket })._socket;
  };

  it('is cut after a while on every transport, and counted; who reads slowly gets it', async () => {
    const clients = { json: legacy('application/json'), events: legacy('text/event-stream') };
    const deaf = await Promise.all([
      clients.json(),
      clients.events(),
      modern(),
      sse(),
      webSocket(),
    ]);
    const slow = await Promise.all([clients.json(), clients.events(), sse()]);
    const got = slow.map(() => 0);
    const mayTake = slow.map(() => 0);
    const counted = async (transport: string): Promise<number> => {
      const text = await fetchMetrics(harness.gateway.adminUrl);
      return metricSum(text, 'sluice_slow_consumers_total', { transport });
    };
    // Less than what waits for them in the time that the others are given, but never nothing.
    slow.forEach((socket, at) => {
      socket.on('data', (chunk: Buffer) => {
        got[at] = (got[at] ?? 0) + chunk.length;
        mayTake[at] = (mayTake[at] ?? 0) - chunk.length;
        if ((mayTake[at] ?? 0) <= 0) socket.pause();
      });
    });
    await until(
      async () => {
        slow.forEach((socket, at) => {
          mayTake[at] = TAKEN_A_SECOND;
          socket.resume();
        });
        const counts = [await counted('streamable-http'), await counted('sse')];
        return [...counts, await counted('websocket')].join() === '3,1,1';
      },
      { timeoutMs: 80_000, intervalMs: 1_000 },
    );
    for (const socket of slow) {
      socket.removeAllListeners('data');
      socket.on('data', (chunk: Buffer) => {
        const at = slow.indexOf(socket);
        got[at] = (got[at] ?? 0) + chunk.length;
      });
      socket.resume();
    }
    await until(() => got.every((bytes) => bytes > 15_000_000));
    expect(await counted('streamable-http')).toBe(3);
    for (const socket of [...deaf, ...slow]) socket.destroy();
  }, 120_000);
});
