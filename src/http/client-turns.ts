// What clients may cost in a turn of the event loop: all of them together, so that a turn is short however
// many connections they have, and each by itself. A client is its principal, on whatever connections and
// transports it comes; its address, while nobody knows who it is. Strangers, those that are known and
// operators have quotas of their own, so that nothing that strangers send delays what principals send.
import { RecentMap } from '../base/recent-map.ts';
import { LEAST_COST, TurnQuota } from '../base/turns.ts';
import { isAnonymous, type Principal, quotaKeyOf } from '../ports/principal.ts';

/** To read the head of a request, or to serve it. */
export const REQUEST_COST = 8 * LEAST_COST;
/** A call of somebody else needs three turns, so each is a few milliseconds of work. */
const TURN_OF_KNOWN = 32 * REQUEST_COST;
const TURN_OF_CLIENT = 16 * REQUEST_COST;
/** To read a part of a body in chunks: there may be ten thousand in it, and each costs a little. */
export const CHUNKS_COST = TURN_OF_CLIENT;
/** Most of what strangers ask for is refused, and may take its time. */
const TURN_OF_STRANGERS = 16 * REQUEST_COST;
/** For a principal that was not seen for so long a quota begins anew, which makes no difference. */
const MAX_PRINCIPALS = 10_000;

const strangers = new TurnQuota(TURN_OF_STRANGERS);
const known = new TurnQuota(TURN_OF_KNOWN);
const operators = new TurnQuota(TURN_OF_CLIENT);

/** What somebody may cost of whom only the address is known. */
export function addressQuota(): TurnQuota {
  return new TurnQuota(TURN_OF_CLIENT, strangers);
}

/** What all may cost together who look after the gateway. */
export function operatorQuota(): TurnQuota {
  return operators;
}

/** The quotas of all principals. */
export class PrincipalTurns {
  readonly #quotas = new RecentMap<string, TurnQuota>(MAX_PRINCIPALS);

  /** @returns undefined while all clients are one principal: then their addresses are told apart */
  of(principal: Principal | undefined): TurnQuota | undefined {
    if (principal === undefined || isAnonymous(principal)) return undefined;
    return this.#quotas.getOrMake(quotaKeyOf(principal), newQuota);
  }
}

function newQuota(): TurnQuota {
  return new TurnQuota(TURN_OF_CLIENT, known);
}
