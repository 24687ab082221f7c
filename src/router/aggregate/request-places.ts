// The places of one modern request at the private servers of an endpoint: one is taken only where
// the request looks, and all are given up when it is known where the request goes.
import { GatewayError } from '../../base/errors.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Seat } from '../../ports/seat.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import type { Member } from './member.ts';

/** Places of a request's client. */
export class RequestPlaces {
  readonly #client: Downstream;
  readonly #parts: AggregateParts;
  /** By the server's position; undefined: there is none yet. */
  readonly #own = new Map<number, Seat | undefined>();
  readonly #refusals = new Map<number, GatewayError>();
  #isOver = false;

  constructor(client: Downstream, parts: AggregateParts) {
    this.#client = client;
    this.#parts = parts;
  }

  /** The place at a server, taken if need be; a server without room, or closed to it, has none. */
  seat(index: number): Seat | undefined {
    return this.#at(index, ({ backend }) => backend.place(this.#client));
  }

  /** The same, but no instance is made for it. */
  peek(index: number): Seat | undefined {
    return this.#own.has(index)
      ? this.#own.get(index)
      : this.#at(index, ({ backend }) => backend.placeIfThere(this.#client));
  }

  /** Why there was no place at a server. */
  refusal(index: number): GatewayError | undefined {
    return this.#refusals.get(index);
  }

  /** The request needs them no longer. */
  leave(): void {
    this.#isOver = true;
    for (const seat of this.#own.values()) seat?.leave();
  }

  #at(index: number, place: (member: Member) => Seat | undefined): Seat | undefined {
    const member = this.#parts.members[index];
    if (member === undefined) return undefined;
    if (member.isShared) return member.readingSeat;
    const known = this.#own.get(index);
    const { visibility } = this.#parts;
    const isClosed = this.#isOver || !visibility.opens(this.#client.principal, member.key);
    if (known !== undefined || isClosed) return known;
    try {
      const seat = place(member);
      this.#own.set(index, seat);
      return seat;
    } catch (error) {
      if (error instanceof GatewayError) this.#refusals.set(index, error);
      return undefined;
    }
  }
}
