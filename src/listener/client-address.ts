// The client's address and the path prefix, as a proxy reports them. These headers are used only from
// configured proxies; from other senders they are ignored (docs/reliability.md#g04).
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

const PREFIX = /^(?:\/[\w\-.~]{1,100}){1,10}\/?$/;
const MAX_HOPS = 20;

/** The proxies whose headers are used. */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /** @param ranges addresses, or `ADDRESS/BITS` */
  constructor(ranges: readonly string[]) {
    this.#isEmpty = ranges.length === 0;
    for (const range of ranges) {
      const [address = '', bits] = range.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#list.addAddress(address, family);
      else this.#list.addSubnet(address, Number(bits), family);
    }
  }

  /** The address of a request's client: the last one that is not a trusted proxy. */
  addressOf(request: IncomingMessage): string {
    const peer = request.socket.remoteAddress ?? 'unknown';
    if (!this.trusts(peer)) return peer;
    const hops = headerText(request, 'x-forwarded-for').split(',').slice(-MAX_HOPS);
    for (const hop of hops.reverse()) {
      const address = hop.trim();
      if (isIP(address) === 0) break;
      if (!this.trusts(address)) return address;
    }
    return peer;
  }

  /** The path prefix that a trusted proxy has removed, without the last slash; undefined if there is none. */
  prefixOf(request: IncomingMessage): string | undefined {
    const prefix = headerText(request, 'x-forwarded-prefix');
    if (prefix === '' || !this.trusts(request.socket.remoteAddress ?? '')) return undefined;
    const isPath = PREFIX.test(prefix) && !/\/\.{1,2}(?:\/|$)/.test(prefix);
    return isPath ? prefix.replace(/\/$/, '') : undefined;
  }

  /** Whether an address belongs to a trusted proxy. */
  trusts(address: string): boolean {
    if (this.#isEmpty) return false;
    const family = isIP(address);
    return family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Several headers with one name mean the same as one with commas. */
function headerText(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}
