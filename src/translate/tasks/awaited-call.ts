// A call of a tool that only runs as a task, for a client that does not know tasks. The gateway makes the
// task, waits for its result, and answers the call with it (docs/protocol.md#tasks).
import { GatewayError } from '../../base/errors.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { ERRORS } from '../../mcp/errors.ts';
import { TASKS_CANCEL, TASKS_RESULT } from '../../mcp/methods.ts';
import { withoutRelatedTask } from '../../mcp/related-task.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Request } from '../../ports/request.ts';
import { OwnRequest } from '../own-request.ts';
import { claimsOf, Task, type TaskTable } from './task.ts';
import { type SharedTasks, withTaskSupport } from './task-support.ts';
import { asTask, createdTask } from './task-text.ts';
import { WaitTask } from './wait-task.ts';

/** A call that the gateway runs as a task, and waits for. */
class AwaitedCall extends ForwardedRequest {
  readonly isBoundToLease = true;
  readonly #lease: Lease;
  readonly #table: TaskTable;
  #task: WaitTask | undefined;
  #result: OwnRequest | undefined;
  #isOver = false;

  constructor(request: Request, lease: Lease, table: TaskTable) {
    super(request, asTask(request.frame));
    this.#lease = lease;
    this.#table = table;
  }

  protected override answered(answer: Frame): void {
    const created = createdTask(answer);
    if (created === undefined) {
      this.pass(answer);
      return;
    }
    const table = this.#table;
    // The client does not know the id of this task, so an older id with the same content must not mean it.
    const claims = claimsOf(this.#lease, created.taskId, this.client);
    table.keep(new Task(claims, this.client, table)).noted(created);
    this.#task = new WaitTask(claims, this.client, this.#lease, table, 'call');
    this.#task.waits(this.original);
    this.#task.follow(this.canceller, true);
    void this.#wait(created.taskId);
  }

  async #wait(taskId: string): Promise<void> {
    this.#result = new OwnRequest(this.client, TASKS_RESULT, { taskId }, { isPatient: true });
    const outcome = await this.#result.at(this.#lease);
    if (this.#isOver) return;
    // The server may still work on it, but nobody could get the result.
    if (outcome instanceof GatewayError) this.#cancelTask(taskId);
    this.pass(outcome instanceof GatewayError ? outcome : withoutRelatedTask(outcome));
  }

  override cancel(notice: Frame | undefined): void {
    super.cancel(notice);
    if (this.#result === undefined || this.#task === undefined) return;
    this.#result.cancel();
    this.#cancelTask(this.#task.claims.taskId);
  }

  protected override ended(): void {
    this.#isOver = true;
    this.#task?.end(ERRORS.callOver);
  }

  #cancelTask(taskId: string): void {
    void new OwnRequest(this.client, TASKS_CANCEL, { taskId }).at(this.#lease);
  }
}

/** Sends a call of a client that does not know tasks. A tool that only runs as a task is run as one. */
export function awaitTaskIfRequired(
  call: Request,
  lease: Lease,
  { table, tools }: SharedTasks,
): Promise<void> {
  return withTaskSupport(call, lease, tools, (support) =>
    lease.dispatch(support === 'required' ? new AwaitedCall(call, lease, table) : call),
  );
}
