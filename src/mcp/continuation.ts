// Which requests go on with what is at work already. A gateway that stops takes these to the end, and
// no others.
import type { Frame } from '../jsonrpc/frame.ts';
import { isTaskMethod, PING } from './methods.ts';

/**
 * Whether a request belongs to work that was begun: the next round of a call that asked its client
 * something (2026-07-28 basic/patterns/mrtr), or a server request about a task.
 */
export function continuesWork(frame: Frame): boolean {
  return frame.stateStart >= 0 || isTaskMethod(frame.method) || frame.method === PING;
}
