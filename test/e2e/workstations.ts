/**
 * Many users of the shipped servers at once: each sits at a desk with one client per server, and the
 * transports are dealt out so that every server has clients of all kinds at the same time.
 */
import type { GatewayUnderTest } from '../support/use-gateway.ts';
import type { Connect, SdkClient, TransportKind } from './sdk-client.ts';
import { SHIPPED_NAMES, type ShippedName } from './shipped-servers.ts';

export interface Workstation {
  readonly number: number;
  readonly secret: string;
  readonly at: Readonly<Record<ShippedName, SdkClient>>;
}

/** Connects `count` users to every server; their clients are closed after the test. */
export async function openWorkstations(
  harness: GatewayUnderTest,
  connect: Connect,
  kinds: readonly TransportKind[],
  count: number,
): Promise<Workstation[]> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  return await Promise.all(numbers.map((number) => openDesk(harness, connect, kinds, number)));
}

async function openDesk(
  harness: GatewayUnderTest,
  connect: Connect,
  kinds: readonly TransportKind[],
  number: number,
): Promise<Workstation> {
  // Of one length, so that none is part of another.
  const secret = `secret-of-${String(number).padStart(3, '0')}`;
  const open = async (server: ShippedName): Promise<SdkClient> => {
    const kind =
      kinds[(number + SHIPPED_NAMES.indexOf(server)) % kinds.length] ?? 'streamable-http';
    return harness.track(
      await connect(`${harness.gateway.url}/servers/${server}`, kind, { secret }),
    );
  };
  const [everything, files, memory] = await Promise.all([
    open('everything'),
    open('files'),
    open('memory'),
  ]);
  return { number, secret, at: { everything, files, memory } };
}

/** The users whose secrets are in a text, by number. */
export function secretsIn(text: string): string[] {
  return [...new Set(text.match(/secret-of-\d{3}/g) ?? [])];
}
