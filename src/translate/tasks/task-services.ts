// What all endpoints share for tasks, and what is said of a task that there is none.
import { INVALID_PARAMS, type WireError } from '../../jsonrpc/error.ts';
import type { TaskTools } from './offered.ts';
import type { TaskTable } from './task-table.ts';

/** What all endpoints share for tasks. */
export interface TaskServices {
  readonly table: TaskTable;
  readonly tools: TaskTools;
}

/** The same for ids that are unknown, foreign or changed: nobody learns which. */
export const UNKNOWN_TASK: WireError = {
  code: INVALID_PARAMS,
  message: 'Invalid params: there is no such task.',
};
