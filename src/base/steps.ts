// Long work that is done in steps, over several turns of the event loop, so that other work goes on.
import { LEAST_COST, type TurnQuota, turnFor } from './turns.ts';

/** Work that yields what each step has cost, in bytes, and returns a result. */
export type StepsTo<T> = Generator<number, T>;

/** The cost after which work checks whether its turn is over. */
export const LOOK_COST = 16 * 1024;
/** This much is done at once in any case: most work is then finished. */
const AT_ONCE_COST = 128 * 1024;

/** Does all of the work now. */
export function finished<T>(steps: StepsTo<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Does the work in turns, as far as the quota allows in each.
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

/** The work of one turn: it is finished, or the next turn must be awaited. */
type Part<T> = { readonly turn: undefined; readonly result: T } | { readonly turn: Promise<void> };

/** @param firstCost what is done before the first check of the quota */
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
 * Does the same with each of many items, as steps.
 * @param bytesOf what one item costs; absent: only the least cost
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

/** Calls `use` at once if the value is there, otherwise when it resolves. Most values are there. */
export function whenThere<T, R>(
  value: T | Promise<T>,
  use: (there: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}
