// Limits the work on lists in one turn of the event loop: reading lists of servers, making lists of
// endpoints, and searching them. These kinds of work take turns.
import { inTurns, type StepsTo } from '../base/steps.ts';
import { TurnQuota } from '../base/turns.ts';

/** A few milliseconds of work. Calls of other clients may have to wait for several turns. */
const ALL_IN_TURN = new TurnQuota(512 * 1024);

/** The quota of one kind of work on lists. */
export function listWork(): TurnQuota {
  return new TurnQuota(512 * 1024, ALL_IN_TURN);
}

const MAKING = listWork();

/** Makes something of lists, in several turns of the event loop if they are long. */
export function makeOfLists<T>(steps: StepsTo<T>): T | Promise<T> {
  return inTurns(steps, MAKING);
}
