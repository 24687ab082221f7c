// A server's task as whoever it belongs to sees it: what the server says of it, and asks for it, after
// the call that made it was answered.
import type { Frame } from '../jsonrpc/frame.ts';
import type { Downstream } from './downstream.ts';

/** Who is told of a task, and asked for it. */
export interface TaskSubscriber extends Downstream {
  /** The server said something of the task: its status, progress with the caller's token, a log. */
  tell(notification: Frame): void;
  /** The connection to the server is over: nothing more will come of the task. */
  lost(): void;
}

/** A task that is followed. */
export interface TaskSubscription {
  /** Nothing more is wanted of it. */
  stop(): void;
}
