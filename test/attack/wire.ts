// What attacks write: requests and WebSocket frames by hand, since no client library would send them.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { KeyName, Target } from './target.ts';

export const MEBI = 1024 * 1024;
const VERSION = '2025-11-25';

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
 * Opens a session over Streamable HTTP.
 * @returns the header lines of its requests
 */
export async function openSession(
  target: Target,
  path: string,
  key: KeyName,
  capabilities: object = {},
): Promise<string> {
  const clientInfo = { name: 'attack', version: '1' };
  const hello = message(
    'initialize',
    { protocolVersion: VERSION, capabilities, clientInfo },
    'hello',
  );
  const socket = await target.connect();
  await write(socket, post(target, `${path}/mcp`, hello, { key }));
  const head = await readHead(socket);
  socket.destroy();
  const id = /^mcp-session-id: *(\S+)/im.exec(head)?.[1];
  if (id === undefined) throw new Error(`no session: ${head.slice(0, 200)}`);
  return `Mcp-Session-Id: ${id}\r\nMCP-Protocol-Version: ${VERSION}\r\n`;
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
  const clientInfo = { name: 'attack', version: '1' };
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo };
  return frame('text', message('initialize', params, 'hello'));
}
