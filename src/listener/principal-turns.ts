// What all requests and messages of one principal may cost in a turn of the event loop, on whatever
// connections and transports they come.

import { RecentMap } from '../base/recent-map.ts';
import { LEAST_COST, TurnQuota } from '../base/turns.ts';
import type { Principal } from '../ports/principal.ts';

/** 128 short messages. */
const TURN_OF_PRINCIPAL = 128 * LEAST_COST;
/** One that was not seen for so long begins anew, which makes no difference. */
const MAX_PRINCIPALS = 10_000;

/** The quotas of all principals. */
export class PrincipalTurns {
  readonly #quotas = new RecentMap<string, TurnQuota>(MAX_PRINCIPALS);

  of({ key }: Principal): TurnQuota {
    return this.#quotas.getOrMake(key, newQuota);
  }
}

function newQuota(): TurnQuota {
  return new TurnQuota(TURN_OF_PRINCIPAL);
}
