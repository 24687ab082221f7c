// A remote MCP server over Streamable HTTP that does one thing wrong. It stays behind all others.
//
// Usage (by the harness): fork('servers/remote.ts', [KIND]); it says `{ port }` when it listens.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { stayBehind } from '../priority.ts';

/** What it says to the harness. */
export interface RemoteReply {
  readonly port: number;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
}
interface Exchange {
  readonly message: Message;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}
/** Takes a request over. @returns whether it did */
type Misbehaviour = (exchange: Exchange) => boolean;

const MEBI = 1024 * 1024;
const CHUNK_BYTES = 65_536;
const STREAM = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };

async function pour(response: ServerResponse, text: string): Promise<void> {
  const chunk = text.repeat(Math.ceil(CHUNK_BYTES / text.length));
  while (response.writable) {
    if (!response.write(chunk)) {
      await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
  }
}

async function drip(exchange: Exchange, text: string): Promise<void> {
  const { socket } = exchange.request;
  for (let at = 0; socket.writable; at += 1) {
    socket.write(text[at % text.length] ?? ' ');
    await delay(500);
  }
}

/** Only calls and what comes after the handshake: otherwise the server would never be used. */
function isLater({ message, request }: Exchange): boolean {
  const { method } = message;
  return (
    request.method === 'GET' ||
    (method !== undefined && method !== 'initialize' && !method.startsWith('notifications/'))
  );
}

/** An endless stream as the answer to everything but the handshake. */
const flooding =
  (text: string): Misbehaviour =>
  (exchange) => {
    if (!isLater(exchange)) return false;
    exchange.response.writeHead(200, STREAM);
    void pour(exchange.response, text);
    return true;
  };

/** One large answer to every call. */
const answering =
  (body: (id: string) => Buffer | string, headers: Record<string, string> = {}): Misbehaviour =>
  ({ message, response }) => {
    if (message.method !== 'tools/call') return false;
    response.writeHead(200, { ...JSON_TYPE, ...headers });
    response.end(body(JSON.stringify(message.id)));
    return true;
  };

const MISBEHAVIOURS: Readonly<Record<string, Misbehaviour>> = {
  'head-drip': (exchange) => {
    if (!isLater(exchange)) return false;
    void drip(
      exchange,
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Slow: aaaaaaaaaaaa',
    );
    return true;
  },
  'body-drip': (exchange) => {
    if (!isLater(exchange)) return false;
    exchange.response.writeHead(200, JSON_TYPE).flushHeaders();
    void (async () => {
      for (; exchange.response.writable; await delay(500)) exchange.response.write(' ');
    })();
    return true;
  },
  'event-drip': (exchange) => {
    if (!isLater(exchange)) return false;
    exchange.response.writeHead(200, STREAM).flushHeaders();
    void (async () => {
      for (; exchange.response.writable; await delay(500)) exchange.response.write(': slow\n');
    })();
    return true;
  },
  silent: (exchange) => isLater(exchange),
  'data-flood': flooding('data: x\n'),
  'comment-flood': flooding(': x\n'),
  'newline-flood': flooding('\n'),
  'empty-event-flood': flooding('data:\n\n'),
  'event-flood': flooding(
    'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}\n\n',
  ),
  'field-flood': flooding('id: x\nretry: 0\nevent: x\n'),
  'question-flood': flooding(
    'data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}\n\n',
  ),
  'endless-line': flooding('x'.repeat(CHUNK_BYTES)),
  'stream-ends': (exchange) => {
    if (!isLater(exchange)) return false;
    exchange.response.writeHead(200, STREAM).end('retry: 0\nid: 1\ndata:\n\n');
    return true;
  },
  redirects: (exchange) => {
    if (!isLater(exchange)) return false;
    exchange.response.writeHead(307, { location: `/mcp?${Math.random()}` }).end();
    return true;
  },
  'closes-connections': (exchange) => {
    if (!isLater(exchange)) return false;
    exchange.request.socket.destroy();
    return true;
  },
  'session-lost': (exchange) => {
    if (!isLater(exchange)) return false;
    exchange.response.writeHead(404).end();
    return true;
  },
  'large-headers': (exchange) => {
    if (!isLater(exchange)) return false;
    const headers = Object.fromEntries(
      Array.from({ length: 14 }, (_, n) => [`x-${n}`, 'x'.repeat(1000)]),
    );
    exchange.response.writeHead(200, { ...JSON_TYPE, ...headers }).end('{}');
    return true;
  },
  'content-of-empty-objects': answering(
    (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[${'{},'.repeat(5_300_000)}{}]}}`,
  ),
  'compressed-bomb': answering(() => gzipSync(Buffer.alloc(200 * MEBI, ' ')), {
    'content-encoding': 'gzip',
  }),
};

function resultOf({ method, params }: Message): object {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params?.protocolVersion ?? '2025-11-25',
        capabilities: { tools: { listChanged: true }, logging: {} },
        serverInfo: { name: 'remote', version: '1' },
      };
    case 'tools/list':
      return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
    default:
      return { content: [{ type: 'text', text: 'echo' }] };
  }
}

function serve(exchange: Exchange): void {
  const { message, request, response } = exchange;
  if (misbehaviour?.(exchange) === true) return;
  if (request.method !== 'POST') response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
  else if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
  else if (message.method === 'server/discover') {
    const error = { code: -32601, message: 'Method not found' };
    response.writeHead(400, JSON_TYPE);
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
  } else {
    const session = message.method === 'initialize' ? { 'mcp-session-id': 's' } : {};
    response.writeHead(200, { ...JSON_TYPE, ...session });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) }));
  }
}

const kind = process.argv[2] ?? '';
const misbehaviour = MISBEHAVIOURS[kind];
if (misbehaviour === undefined) throw new Error(`no misbehaviour is called ${kind}`);
stayBehind();
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  response.on('error', () => undefined);
  request.on('error', () => undefined);
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString('utf8');
    const message = text === '' ? {} : (JSON.parse(text) as Message);
    serve({ message, request, response });
  });
});
server.listen(0, '127.0.0.1', () => {
  const reply: RemoteReply = { port: (server.address() as AddressInfo).port };
  process.send?.(reply);
});
process.on('disconnect', () => process.exit(0));
