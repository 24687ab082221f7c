// How much of what was sent on a connection its client has not acknowledged. A client whose machine or
// network is gone acknowledges nothing, and nothing fails: the system sends again for a quarter of an hour
// (tcp(7), tcp_retries2), and Node has no TCP user timeout. Linux tells how much waits, for all connections
// at once (proc_net_tcp(5)).
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** Local and remote end, and what waits to be acknowledged: not `00000000`. */
const WAITING = /^ *\d+: \w+:(\w{4}) (\w+):(\w{4}) \w\w (?!0{8}:)(\w{8}):/gm;
const MAPPED = '0000000000000000FFFF0000';

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/** Reads one of the tables. */
export type ReadTable = (path: string) => Promise<string>;

/** What waited to be acknowledged when it was looked at. */
export class Unacknowledged {
  readonly #read: ReadTable;
  #waiting: ReadonlyMap<string, number> = new Map();

  constructor(read: ReadTable = (path) => readFile(path, 'latin1')) {
    this.#read = read;
  }

  /** Looks again. On other systems than Linux there is nothing to see. */
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

  /** Of one connection, in bytes. */
  of({ remoteAddress, remotePort, localPort }: Ends): number {
    if (this.#waiting.size === 0 || remoteAddress === undefined) return 0;
    const ends = `${hexOf(localPort)} ${addressInTable(remoteAddress)} ${hexOf(remotePort)}`;
    return this.#waiting.get(ends) ?? 0;
  }
}

/** IPv4 over a socket of IPv6 is the same address. */
function withoutPrefix(address: string): string {
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
}

/** An address as the tables have it: words of four bytes, each with its last byte first. */
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
