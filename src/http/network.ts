// Which addresses belong to one client.

/** A client with one IPv6 address usually has all addresses with the same first 64 bits. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** The common part of the addresses of one client. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = [], after] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const groups = [...before];
  while (after !== undefined && groups.length + after.length < GROUPS) groups.push('0');
  return `${[...groups, ...(after ?? [])].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
