// Work that can be interrupted: it is done step by step, in several turns of the event loop where it is
// long, so that others go on meanwhile.
import { LEAST_COST, type TurnQuota, turnFor } from './turns.ts';

/** Work that yields what it has cost since it did so last, in bytes, and gives a result. */
export type StepsTo<T> = Generator<number, T>;

/** How often work looks whether its turn is over. */
export const LOOK_COST = 16 * 1024;
/** So much is done at once, whatever else goes on: most work is over by then. */
const AT_ONCE_COST = 128 * 1024;

/** Does all of it now. */
export function finished<T>(steps: StepsTo<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Does as much of it in each turn as there is left of a quota.
 * @returns a promise only if it takes more than this turn
 */
export function inTurns<T>(steps: StepsTo<T>, quota: TurnQuota): T | Promise<T> {
  const part = untilSpent(steps, quota, AT_ONCE_COST);
  return part.turn === undefined ? part.result : goOn(steps, quota, part.turn);
}

async function goOn<T>(steps: StepsTo<T>, quota: TurnQuota, firstTurn: Promise<void>): Promise<T> {
  let turn = firstTurn;
  for (;;) {
    await turn;
    const part = untilSpent(steps, quota, LOOK_COST);
    if (part.turn === undefined) return part.result;
    turn = part.turn;
  }
}

/** What was done in one turn: all that was left, or so much that the next turn has to be waited for. */
type Part<T> = { readonly turn: undefined; readonly result: T } | { readonly turn: Promise<void> };

/** @param firstCost what is done before it looks for the first time */
function untilSpent<T>(steps: StepsTo<T>, quota: TurnQuota, firstCost: number): Part<T> {
  let cost = 0;
  let enough = firstCost;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { turn: undefined, result: step.value };
    cost += step.value;
    if (cost < enough) continue;
    const turn = turnFor(quota, cost);
    if (turn !== undefined) return { turn };
    cost = 0;
    enough = LOOK_COST;
  }
}

/**
 * Does the same with each of many items.
 * @param bytesOf what one costs besides being looked at; absent: nothing
 */
export function* eachItem<T>(
  items: Iterable<T>,
  act: (item: T) => void,
  bytesOf?: (item: T) => number,
): StepsTo<void> {
  let cost = 0;
  for (const item of items) {
    act(item);
    cost += LEAST_COST + (bytesOf?.(item) ?? 0);
    if (cost < LOOK_COST) continue;
    yield cost;
    cost = 0;
  }
  yield cost;
}

/** Uses what is there at once, and what is being worked on when it is: most of it is there. */
export function whenThere<T, R>(
  value: T | Promise<T>,
  use: (there: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}
