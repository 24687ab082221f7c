// Servers that are asked one after the other, until one has what a client wants.

/**
 * Asks candidates in their order. Where none has it, the client gets what the first one said.
 * @param ask asks one; `missed` is left out for the only one, whose answer counts as it is
 */
export function inTurn<T>(
  candidates: readonly T[],
  ask: (candidate: T, missed: ((deliver: () => void) => void) | undefined) => void,
): void {
  const [only] = candidates;
  if (candidates.length === 1 && only !== undefined) {
    ask(only, undefined);
    return;
  }
  let first: (() => void) | undefined;
  const next = (index: number): void => {
    const candidate = candidates[index];
    if (candidate === undefined) {
      first?.();
      return;
    }
    ask(candidate, (deliver) => {
      first ??= deliver;
      next(index + 1);
    });
  };
  next(0);
}
