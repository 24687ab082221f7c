// How many bytes a client has not acknowledged. If a client's machine or network fails, nothing is
// acknowledged, but nothing fails either: the system retransmits for a quarter of an hour (tcp(7),
// tcp_retries2), and Node has no TCP user timeout. Linux shows the unacknowledged bytes of all connections
// (proc_net_tcp(5)).
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/**
 * A line with unacknowledged bytes (not `00000000`): ports of both ends, the remote address, and the bytes.
 */
const WAITING = /^ *\d+: \w+:(\w{4}) (\w+):(\w{4}) \w\w (?!0{8}:)(\w{8}):/gm;
const MAPPED = '0000000000000000FFFF0000';

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/** Reads one of the tables. */
export type ReadTable = (path: string) => Promise<string>;

/** The unacknowledged bytes of all connections, when they were last read. */
export class Unacknowledged {
  readonly #read: ReadTable;
  #waiting: ReadonlyMap<string, number> = new Map();

  constructor(read: ReadTable = (path) => readFile(path, 'latin1')) {
    this.#read = read;
  }

  /** Reads the tables again. On systems other than Linux there are none. */
  async look(): Promise<void> {
    const waiting = new Map<string, number>();
    for (const path of TABLES) {
      const table = await this.#read(path).catch(() => '');
      for (const [, local, address, remote, bytes] of table.matchAll(WAITING)) {
        waiting.set(`${local} ${withoutPrefix(address ?? '')} ${remote}`, Number(`0x${bytes}`));
      }
    }
    this.#waiting = waiting;
  }

  /** The bytes of one connection. */
  of({ remoteAddress, remotePort, localPort }: Ends): number {
    if (this.#waiting.size === 0 || remoteAddress === undefined) return 0;
    const ends = `${hexOf(localPort)} ${addressInTable(remoteAddress)} ${hexOf(remotePort)}`;
    return this.#waiting.get(ends) ?? 0;
  }
}

/** An IPv4 address over an IPv6 socket is the same address. */
function withoutPrefix(address: string): string {
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
}

/** An address in the form of the tables: words of four bytes, each with its last byte first. */
export function addressInTable(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  const bytes = plain.includes(':') ? bytesOfIpv6(plain) : plain.split('.').map(Number);
  let text = '';
  for (let word = 0; word < bytes.length; word += 4) {
    for (const byte of bytes.slice(word, word + 4).reverse()) text += hexOf(byte, 2);
  }
  return text;
}

function bytesOfIpv6(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = groups(tail ?? '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

function hexOf(value = 0, digits = 4): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
