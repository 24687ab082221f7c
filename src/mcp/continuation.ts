// Requests that continue work in progress. A gateway that is draining accepts these and no others.
import type { Frame } from '../jsonrpc/frame.ts';
import { isTaskMethod, PING } from './methods.ts';

/**
 * Whether a request continues work: the next round of a call that was answered with `input_required`
 * (2026-07-28 basic/patterns/mrtr), or a request about a task.
 */
export function continuesWork(frame: Frame): boolean {
  return frame.stateStart >= 0 || isTaskMethod(frame.method) || frame.method === PING;
}
