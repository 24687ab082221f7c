// The limits of connections of the public listener: in total, as many as there are file descriptors for; and
// for one address, so that it can't use all of them.
import { descriptorLimit } from '../base/descriptors.ts';
import type { Scarcity, SocketLimits } from '../http/open-sockets.ts';
import { RareLine } from '../observe/rare-line.ts';
import type { ListenerContext } from './context.ts';
import { connectionsWithin } from './http-bounds.ts';

const REFUSED: Readonly<Record<Scarcity, string>> = {
  all: 'connections',
  address: 'address_connections',
  unused: 'connections',
};
/** Clients send a request as soon as they are connected, so there are never many connections without one. */
const MAX_UNUSED = 4_096;

/**
 * Computes the limits.
 * @param most the most open connections, if there are enough file descriptors
 */
export function socketLimits(
  { options, gatekeeper, logger, metrics }: ListenerContext,
  most: number,
  descriptors = descriptorLimit(),
): SocketLimits {
  const connections = Math.min(most, connectionsWithin(descriptors));
  const perAddress = Math.min(options.maxConnectionsPerAddress, Math.ceil(connections / 2));
  const limits: Readonly<Record<Scarcity, number>> = {
    all: connections,
    address: perAddress,
    unused: MAX_UNUSED,
  };
  const line = new RareLine<{ readonly whose: Scarcity; readonly what: string }>((count, about) => {
    const { whose, what } = about;
    const limit = limits[whose];
    logger.warn({ whose, what, limit, descriptors, count }, 'too many connections of clients');
  });
  return {
    connections,
    perAddress,
    unused: MAX_UNUSED,
    isShared: (address) => gatekeeper.proxies.trusts(address),
    scarce: (whose, what) => {
      if (what === 'refused') metrics.rejected.inc({ reason: REFUSED[whose] });
      else metrics.idleClosed.inc();
      line.note({ whose, what });
    },
  };
}
