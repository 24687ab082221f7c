// What a session has at its endpoint, for another endpoint in the same place to go on with
// (docs/operations.md#reload): its log level, what it watches, and its instances.
import type { LoggingLevel } from '../mcp/log-levels.ts';
import type { UpstreamSession } from '../ports/dispatcher.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Backend, Lease } from '../ports/lease.ts';

/** A resource that a client watches, and at which servers. */
export interface CarriedResource {
  /** As the client calls it. */
  readonly uri: string;
  readonly owners: readonly { readonly key: string; readonly uri: string }[];
}

/** A lease, and whose it is. */
interface CarriedLease {
  readonly backend: Backend;
  readonly lease: Lease;
}

/** What goes on. */
export interface CarriedSession {
  /** Undefined: the client has not said. */
  readonly level: LoggingLevel | undefined;
  readonly watched: readonly CarriedResource[];
  /** The lease at a server of that name. */
  leaseAt(server: string): CarriedLease | undefined;
}

/** A session's link that can be followed by another one. */
export interface CarryingSession extends UpstreamSession {
  readonly carried: CarriedSession;
}

const NOTHING: CarriedSession = { level: undefined, watched: [], leaseAt: () => undefined };

/** What a session has at an endpoint. */
export function carriedBy(session: UpstreamSession): CarriedSession {
  return 'carried' in session ? (session as CarryingSession).carried : NOTHING;
}

/**
 * A client's lease at a server: at the instance that it has there already, under whatever other endpoint.
 * @throws GatewayError when no process may be started for it
 */
export function leaseAfter(backend: Backend, client: Downstream, before?: CarriedSession): Lease {
  const held = before?.leaseAt(backend.name);
  const same = held?.backend === backend ? backend.acquireById(client, held.lease.at) : undefined;
  return same ?? backend.acquire(client);
}

/** A client's lease at another server of that name, in whose place a server is. */
export function leaseBefore(backend: Backend, before: CarriedSession): Lease | undefined {
  const held = before.leaseAt(backend.name);
  return held?.backend === backend ? undefined : held?.lease;
}
