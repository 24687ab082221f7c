// What attacks write: requests and WebSocket frames by hand, since no client library would send them.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { KeyName, Target } from './target.ts';

export const MEBI = 1024 * 1024;
const VERSION = '2025-11-25';
const MODERN_VERSION = '2026-07-28';
const CLIENT_INFO = { name: 'attack', version: '1' };

/** A JSON-RPC request or notification as text. */
export function message(method: string, params?: object, id?: number | string): string {
  return JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params });
}

/** A whole GET. */
export function get(target: Target, path: string, key?: KeyName, headers = ''): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${target.headers(key)}${headers}\r\n`);
}

/** The head of a POST. */
export function postHead(
  target: Target,
  path: string,
  options: { readonly key?: KeyName; readonly headers?: string; readonly length?: number } = {},
): string {
  const { key, headers = '', length } = options;
  const size = length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
  return `POST ${path} HTTP/1.1\r\n${target.headers(key)}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${headers}${size}\r\n\r\n`;
}

/** A whole POST. */
export function post(
  target: Target,
  path: string,
  body: string | Buffer,
  options: { readonly key?: KeyName; readonly headers?: string } = {},
): Buffer {
  const bytes = Buffer.from(body);
  const head = postHead(target, path, { ...options, length: bytes.length });
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** A whole POST of the stateless era. */
export function modernPost(
  target: Target,
  path: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
  options: { readonly key?: KeyName; readonly id?: number | string; readonly meta?: object } = {},
): Buffer {
  const { key = 'attacker', id = 1, meta = {} } = options;
  const prefix = 'io.modelcontextprotocol/';
  const envelope = {
    [`${prefix}protocolVersion`]: MODERN_VERSION,
    [`${prefix}clientInfo`]: CLIENT_INFO,
    [`${prefix}clientCapabilities`]: { elicitation: {} },
    ...meta,
  };
  const subject = params['name'] ?? params['uri'];
  const name = typeof subject === 'string' ? `Mcp-Name: ${subject.slice(0, 4000)}\r\n` : '';
  const headers = `MCP-Protocol-Version: ${MODERN_VERSION}\r\nMcp-Method: ${method}\r\n${name}`;
  const body = message(method, { ...params, _meta: envelope }, id);
  return post(target, `${path}/mcp`, body, { key, headers });
}

/** Writes once; resolves when the peer's side has taken it, or the connection is gone. */
export async function write(socket: Socket, bytes: Buffer | string): Promise<void> {
  if (socket.destroyed || !socket.writable) return;
  if (socket.write(bytes)) return;
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
}

/**
 * Writes the same bytes again and again, as fast as they are taken.
 * @param mostBytes stops after so many
 * @returns how many bytes were written
 */
export async function pour(
  target: Target,
  socket: Socket,
  bytes: Buffer | string,
  mostBytes = Number.POSITIVE_INFINITY,
): Promise<number> {
  const size = Buffer.byteLength(bytes);
  let written = 0;
  while (!target.isOver && !socket.destroyed && socket.writable && written < mostBytes) {
    await write(socket, bytes);
    written += size;
  }
  return written;
}

/** A few bytes as often as they fit in about 64 KiB, so that writing costs little. */
export function many(bytes: Buffer | string): Buffer {
  const one = Buffer.from(bytes);
  return Buffer.concat(Array.from({ length: Math.ceil(65_536 / one.length) }, () => one));
}

/** The head of the next answer as text. What follows stays to be read. */
export async function readHead(socket: Socket): Promise<string> {
  let text = '';
  while (!text.includes('\r\n\r\n')) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) text += chunk.toString('latin1');
    else if (socket.destroyed || socket.readableEnded) throw new Error('closed');
    else await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
  }
  return text;
}

/**
 * Sends a request on a connection of its own and reads the whole answer, of which nothing is kept.
 * @returns the status; 0 when the connection was closed first
 */
export async function exchange(target: Target, request: Buffer): Promise<number> {
  const socket = await target.connect();
  let head = '';
  let rest = Number.POSITIVE_INFINITY;
  const done = new Promise<void>((resolve) => {
    socket.once('close', resolve);
    socket.on('data', (chunk: Buffer) => {
      const isFirst = head === '';
      if (isFirst) {
        head = chunk.toString('latin1', 0, 4096);
        const length = /^content-length: *(\d+)/im.exec(head)?.[1];
        if (length !== undefined) rest = head.indexOf('\r\n\r\n') + 4 + Number(length);
      }
      rest -= chunk.length;
      const isLastChunk = chunk.subarray(-5).toString('latin1') === '0\r\n\r\n';
      if (rest <= 0 || isLastChunk) resolve();
    });
  });
  await write(socket, request);
  await done;
  socket.destroy();
  return Number(head.slice(9, 12));
}

/** Counts how often each status was answered. */
export class Statuses {
  readonly #counts = new Map<number, number>();

  add(status: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
  }

  /** `12 x 200, 3 x 503`. */
  toString(): string {
    const sorted = [...this.#counts].sort(([a], [b]) => a - b);
    return sorted.map(([status, count]) => `${count} x ${status || 'closed'}`).join(', ');
  }
}

/**
 * Opens a session over Streamable HTTP.
 * @returns the header lines of its requests
 */
export async function openSession(
  target: Target,
  path: string,
  key: KeyName,
  options: { readonly capabilities?: object; readonly version?: string } = {},
): Promise<string> {
  const { capabilities = {}, version = VERSION } = options;
  const params = { protocolVersion: version, capabilities, clientInfo: CLIENT_INFO };
  const hello = message('initialize', params, 'hello');
  const socket = await target.connect();
  await write(socket, post(target, `${path}/mcp`, hello, { key }));
  const head = await readHead(socket);
  socket.destroy();
  const id = /^mcp-session-id: *(\S+)/im.exec(head)?.[1];
  if (id === undefined) throw new Error(`no session: ${head.slice(0, 200)}`);
  return `Mcp-Session-Id: ${id}\r\nMCP-Protocol-Version: ${version}\r\n`;
}

/**
 * Opens a WebSocket.
 * @returns the connection, of which nothing is read before `resume`
 */
export async function openWebSocket(target: Target, path: string, key: KeyName): Promise<Socket> {
  const socket = await target.connect();
  const upgrade =
    'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n';
  await write(socket, get(target, `${path}/ws`, key, upgrade));
  const head = await readHead(socket);
  if (!head.startsWith('HTTP/1.1 101')) {
    socket.destroy();
    throw new Error(`no WebSocket: ${head.slice(0, 200)}`);
  }
  return socket;
}

/** Opens as many WebSockets as there may be, up to `count`. */
export async function openWebSockets(
  target: Target,
  path: string,
  count: number,
): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n += 1) {
    const socket = await openWebSocket(target, path, 'attacker').catch(() => undefined);
    if (socket === undefined) break;
    sockets.push(socket);
  }
  return sockets;
}

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/** A frame of a client; its mask is all zeros, which leaves the payload as it is. */
export function frame(
  opcode: keyof typeof OPCODES,
  payload: Buffer | string = '',
  isLast = true,
): Buffer {
  const bytes = Buffer.from(payload);
  const first = (isLast ? 0x80 : 0) | OPCODES[opcode];
  const head = Buffer.alloc(14);
  head[0] = first;
  let length = 2;
  if (bytes.length < 126) head[1] = 0x80 | bytes.length;
  else if (bytes.length < 65_536) {
    head[1] = 0x80 | 126;
    length = head.writeUInt16BE(bytes.length, 2);
  } else {
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(BigInt(bytes.length), 2);
    length = 10;
  }
  return Buffer.concat([head.subarray(0, length + 4), bytes]);
}

/** The first message of a session on a WebSocket. */
export function helloFrame(): Buffer {
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: CLIENT_INFO };
  return frame('text', message('initialize', params, 'hello'));
}
