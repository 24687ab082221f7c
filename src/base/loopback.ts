// Which listening addresses can be reached only from this machine. Addresses are read strictly: the resolver
// may read `0`, `127.1` and names other than localhost differently, so they don't count.
import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

/**
 * Whether a host is loopback.
 * @param host an address, `localhost` or another name; no port, no brackets
 * @returns true for 127.0.0.0/8, ::1 and localhost
 */
export function isLoopbackHost(host: string): boolean {
  const family = isIP(host);
  if (family === 0) {
    return host.toLowerCase() === 'localhost';
  }
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
