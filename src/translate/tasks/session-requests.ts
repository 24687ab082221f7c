// The requests of a legacy client that are about tasks, at a server of its own era: passed on, with
// the server's ids toward the server and sealed ones toward the client (docs/protocol.md#tasks).
import { INVALID_PARAMS } from '../../jsonrpc/error.ts';
import { Frame } from '../../jsonrpc/frame.ts';
import { errorCodeOf } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { replaceSpan } from '../../jsonrpc/splice.ts';
import { TASKS_CANCEL, TASKS_RESULT } from '../../mcp/methods.ts';
import { withRelatedTask } from '../../mcp/related-task.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Canceller, Outcome, Request } from '../../ports/request.ts';
import type { SessionTask } from './session-task.ts';
import {
  editedTaskList,
  madeTask,
  taskStateOf,
  withParamsTaskId,
  withTaskId,
} from './task-text.ts';

/** A call that asks the server to make a task of it. */
export class TaskCreation extends ForwardedRequest {
  readonly isBoundToLease = true;
  readonly #made: (taskId: string) => SessionTask;

  /**
   * @param made told of the task that the server made
   */
  constructor(request: Request, made: (taskId: string) => SessionTask) {
    super(request);
    this.#made = made;
  }

  protected override answered(answer: Frame): void {
    const task = madeTask(answer);
    if (task === undefined) {
      this.pass(answer);
      return;
    }
    const { bytes } = answer;
    const { status, ttlMs } = taskStateOf(bytes, task.valueStart, task.valueEnd);
    const made = this.#made(task.taskId);
    const text = withTaskId(bytes, task.valueStart, task.valueEnd, made.id);
    const told = scan(replaceSpan(bytes, task.valueStart, task.valueEnd, text));
    this.pass(withRelatedTask(told, made.claims.taskId, made.id));
    // What the server said of it already comes after the answer that names it.
    made.follow(this.canceller, true);
    made.noted(status, ttlMs);
  }
}

/** `tasks/get`, `tasks/result` or `tasks/cancel` of a task. */
export class TaskRequest extends ForwardedRequest {
  readonly isPatient: boolean;
  readonly #task: SessionTask;
  readonly #done: () => void;

  /**
   * @param done told when it is over
   */
  constructor(request: Request, task: SessionTask, done: () => void) {
    super(request, withParamsTaskId(request.frame, task.claims.taskId));
    this.isPatient = request.frame.method === TASKS_RESULT;
    this.#task = task;
    this.#done = done;
    if (this.isPatient) task.waits(this);
  }

  // The server may ask while it works on this, whoever made the task.
  sent(call: Canceller): void {
    this.#task.follow(call, false);
  }

  override settle(outcome: Outcome): void {
    if (outcome instanceof Frame && outcome.resultStart < 0) this.#note(outcome);
    super.settle(outcome);
  }

  protected override answered(answer: Frame): void {
    this.pass(this.#result(answer));
  }

  protected override ended(): void {
    this.#task.waitsNoMore(this);
    this.#done();
  }

  /** Notes what an error says of the task. */
  #note(answer: Frame): void {
    // The outcome of the task, or a task that may be cancelled no more.
    const isKnown = this.isPatient || this.frame.method === TASKS_CANCEL;
    if (errorCodeOf(answer) !== INVALID_PARAMS) {
      if (this.isPatient) this.#task.settled();
    } else if (!isKnown) {
      this.#task.close();
    }
  }

  #result(answer: Frame): Frame {
    const { bytes, resultStart, resultEnd } = answer;
    const { claims, id } = this.#task;
    if (this.isPatient) {
      this.#task.settled();
      return withRelatedTask(answer, claims.taskId, id);
    }
    const { status, ttlMs } = taskStateOf(bytes, resultStart, resultEnd);
    this.#task.noted(status, ttlMs);
    const text = withTaskId(bytes, resultStart, resultEnd, id);
    return withRelatedTask(
      scan(replaceSpan(bytes, resultStart, resultEnd, text)),
      claims.taskId,
      id,
    );
  }
}

/** `tasks/list`: the client's own tasks only. */
export class TaskList extends ForwardedRequest {
  readonly #idOf: (taskId: string) => string | undefined;

  constructor(request: Request, idOf: (taskId: string) => string | undefined) {
    super(request);
    this.#idOf = idOf;
  }

  protected override answered(answer: Frame): void {
    this.pass(editedTaskList(answer, this.#idOf));
  }
}
