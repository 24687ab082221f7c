// Which addresses are public, and not of this machine, its networks, or reserved (special-purpose registries
// of IANA, RFC 6890).
import { BlockList, isIP } from 'node:net';

/** IPv4 networks that are not public. */
const special = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8], // this host: Linux connects to itself
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, and cloud metadata
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3], // multicast, reserved, broadcast
] as const) {
  special.addSubnet(network, bits, 'ipv4');
}

/** IPv6 addresses that are assigned at all, */
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');
/** and those of them that are special. Addresses that contain an IPv4 address are never public. */
const reserved = new BlockList();
reserved.addSubnet('2001::', 23, 'ipv6');
reserved.addSubnet('2001:db8::', 32, 'ipv6');
reserved.addSubnet('2002::', 16, 'ipv6');
reserved.addSubnet('3fff::', 20, 'ipv6');

/**
 * Whether an address is public.
 * @param address as a resolver returns it; any other text is not public
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, 'ipv4');
    case 6:
      return (
        !address.includes('%') && global.check(address, 'ipv6') && !reserved.check(address, 'ipv6')
      );
    default:
      return false;
  }
}
