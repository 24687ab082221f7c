// What clients may cost in a turn of the event loop: each one by itself, and all together, so that a turn is
// short for any number of connections. A client is its principal, on all its connections and transports;
// while it is not known, its address. Unknown clients, principals and operators have separate quotas, so
// unknown clients can't delay principals.
import { RecentMap } from '../base/recent-map.ts';
import { LEAST_COST, TurnQuota } from '../base/turns.ts';
import { isAnonymous, type Principal, quotaKeyOf } from '../ports/principal.ts';

/** The cost of reading the head of a request, or of serving it. */
export const REQUEST_COST = 8 * LEAST_COST;
/** A call of another client needs three turns, so a turn is a few milliseconds of work. */
const TURN_OF_KNOWN = 32 * REQUEST_COST;
const TURN_OF_CLIENT = 16 * REQUEST_COST;
/** The cost of reading a part of a chunked body: it may have ten thousand chunks, and each costs a little. */
export const CHUNKS_COST = TURN_OF_CLIENT;
/** Most requests of unknown clients are refused, and may wait. */
const TURN_OF_STRANGERS = 16 * REQUEST_COST;
/** A principal that was not seen for long gets a new quota, which makes no difference. */
const MAX_PRINCIPALS = 10_000;

const strangers = new TurnQuota(TURN_OF_STRANGERS);
const known = new TurnQuota(TURN_OF_KNOWN);
const operators = new TurnQuota(TURN_OF_CLIENT);

/** The quota of a client whose address only is known. */
export function addressQuota(): TurnQuota {
  return new TurnQuota(TURN_OF_CLIENT, strangers);
}

/** The shared quota of all operators (the admin listener). */
export function operatorQuota(): TurnQuota {
  return operators;
}

/** The quotas of all principals. */
export class PrincipalTurns {
  readonly #quotas = new RecentMap<string, TurnQuota>(MAX_PRINCIPALS);

  /**
   * @returns undefined without authentication, when all clients are one principal: they are then separated by
   *   address
   */
  of(principal: Principal | undefined): TurnQuota | undefined {
    if (principal === undefined || isAnonymous(principal)) return undefined;
    return this.#quotas.getOrMake(quotaKeyOf(principal), newQuota);
  }
}

function newQuota(): TurnQuota {
  return new TurnQuota(TURN_OF_CLIENT, known);
}
