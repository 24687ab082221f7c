// Which listening hosts are reachable from this machine only. Addresses are read strictly: `0`,
// `127.1` and names other than localhost may mean something else to the resolver, so they are not.
import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

/**
 * Says whether a host is loopback.
 *
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
