// What work on lists may cost in one turn of the event loop, whoever causes it: to read lists of servers
// and to search them. Each of these has its turn, one after the other.
import { TurnQuota } from '../base/turns.ts';

/** Some milliseconds of work. A call of somebody else passes several turns. */
const ALL_IN_TURN = new TurnQuota(512 * 1024);

/** The quota of one kind of work on lists. */
export function listWork(): TurnQuota {
  return new TurnQuota(512 * 1024, ALL_IN_TURN);
}
