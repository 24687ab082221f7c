// The leases of one modern request at the private servers of an endpoint: one is taken only where
// the request looks, and all are given up when it is known where the request goes.
import { GatewayError } from '../../base/errors.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import type { Member } from './member.ts';

/** Leases of a request's client. */
export class RequestLeases {
  readonly #client: Downstream;
  readonly #parts: AggregateParts;
  /** By the server's position; undefined: there is none yet. */
  readonly #own = new Map<number, Lease | undefined>();
  readonly #refusals = new Map<number, GatewayError>();
  #isOver = false;

  constructor(client: Downstream, parts: AggregateParts) {
    this.#client = client;
    this.#parts = parts;
  }

  /** The lease at a server, taken if need be; a server without room, or closed to it, has none. */
  lease(index: number): Lease | undefined {
    return this.#at(index, ({ backend }) => backend.acquire(this.#client));
  }

  /** The same, but no instance is made for it. */
  peek(index: number): Lease | undefined {
    return this.#own.has(index)
      ? this.#own.get(index)
      : this.#at(index, ({ backend }) => backend.acquireExisting(this.#client));
  }

  /** Why there was no lease at a server. */
  refusal(index: number): GatewayError | undefined {
    return this.#refusals.get(index);
  }

  /** The request needs them no longer. */
  leave(): void {
    this.#isOver = true;
    for (const lease of this.#own.values()) lease?.leave();
  }

  #at(index: number, acquire: (member: Member) => Lease | undefined): Lease | undefined {
    const member = this.#parts.members[index];
    if (member === undefined) return undefined;
    if (member.isShared) return member.readingLease;
    const known = this.#own.get(index);
    const { visibility } = this.#parts;
    const isClosed = this.#isOver || !visibility.opens(this.#client.principal, member.key);
    if (known !== undefined || isClosed) return known;
    try {
      const lease = acquire(member);
      this.#own.set(index, lease);
      return lease;
    } catch (error) {
      if (error instanceof GatewayError) this.#refusals.set(index, error);
      return undefined;
    }
  }
}
