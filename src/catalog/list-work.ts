// What work on lists may cost in one turn of the event loop, whoever causes it: to read lists of servers,
// to make lists of endpoints of them, and to search them. Each of these has its turn, one after the other.
import { inTurns, type StepsTo } from '../base/steps.ts';
import { TurnQuota } from '../base/turns.ts';

/** Some milliseconds of work. A call of somebody else passes several turns. */
const ALL_IN_TURN = new TurnQuota(512 * 1024);

/** The quota of one kind of work on lists. */
export function listWork(): TurnQuota {
  return new TurnQuota(512 * 1024, ALL_IN_TURN);
}

const MAKING = listWork();

/** Makes something of lists, in several turns of the event loop where they are long. */
export function makeOfLists<T>(steps: StepsTo<T>): T | Promise<T> {
  return inTurns(steps, MAKING);
}
