// A call of a tool that only runs as a task, for a client that knows no tasks: the gateway makes the
// task, waits for its result, and answers the call with that (docs/protocol.md#tasks).
import { GatewayError } from '../../base/errors.ts';
import { INTERNAL_ERROR } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { MESSAGE, TASK_STATUS, TASKS_CANCEL, TASKS_RESULT } from '../../mcp/methods.ts';
import { withoutRelatedTask } from '../../mcp/related-task.ts';
import type { Reply, ServerRequest } from '../../ports/downstream.ts';
import { ForwardedRequest, ForwardedServerRequest } from '../../ports/forwarded-request.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';
import type { Request, TaskSubscriber, TaskSubscription } from '../../ports/request.ts';
import { OwnRequest } from '../own-request.ts';
import { OwnedTask, wantsLog } from './owned-task.ts';
import { claimsOf } from './task-ids.ts';
import type { TaskState, TaskTable } from './task-table.ts';
import { asTask, madeTask, taskStateOf } from './task-text.ts';

/** Where a call is made a task of. */
interface AwaitedTaskTarget {
  readonly lease: Lease;
  readonly table: TaskTable;
}

/** A call that the gateway makes a task of, and waits for. */
export class AwaitedTask extends ForwardedRequest implements TaskSubscriber {
  readonly isBoundToLease = true;
  readonly #target: AwaitedTaskTarget;
  readonly #serverRequests = new Map<ServerRequest, ServerRequest>();
  #taskId: string | undefined;
  #subscription: TaskSubscription | undefined;
  #result: OwnRequest | undefined;
  #isOver = false;

  constructor(request: Request, target: AwaitedTaskTarget) {
    super(request, asTask(request.frame));
    this.#target = target;
  }

  get principal(): Principal {
    return this.client.principal;
  }

  get version(): string {
    return this.client.version;
  }

  get capabilities(): ClientCapabilities {
    return this.client.capabilities;
  }

  get info(): unknown {
    return this.client.info;
  }

  protected override answered(answer: Frame): void {
    const task = madeTask(answer);
    if (task === undefined) {
      this.pass(answer);
      return;
    }
    const { ttlMs } = taskStateOf(answer.bytes, task.valueStart, task.valueEnd);
    this.#taskId = task.taskId;
    const { lease, table } = this.#target;
    // Its owner has no id of it: an older id of somebody else must not mean it.
    const claims = claimsOf(lease, task.taskId, this.client);
    table.keep(new OwnedTask(claims, this.client, table)).noted(undefined, ttlMs);
    this.#subscription = this.canceller?.follow?.(this.#taskId, this, true);
    void this.#wait(this.#taskId);
  }

  async #wait(taskId: string): Promise<void> {
    this.#result = new OwnRequest(this.client, TASKS_RESULT, { taskId }, { isPatient: true });
    const outcome = await this.#result.at(this.#target.lease);
    if (this.#isOver) return;
    if (outcome instanceof GatewayError) {
      // The server may work on it still, but nobody could take the result.
      this.#cancelTask();
      this.pass(outcome);
    } else {
      this.pass(withoutRelatedTask(outcome));
    }
  }

  override cancel(notice: Frame | undefined): void {
    super.cancel(notice);
    if (this.#result === undefined) return;
    this.#result.cancel();
    this.#cancelTask();
  }

  ask(serverRequest: ServerRequest): void {
    const plain = new PlainServerRequest(serverRequest, () =>
      this.#serverRequests.delete(serverRequest),
    );
    this.#serverRequests.set(serverRequest, plain);
    this.client.ask(plain, this.original);
  }

  withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void {
    const plain = this.#serverRequests.get(serverRequest);
    this.#serverRequests.delete(serverRequest);
    if (plain !== undefined) this.client.withdraw(plain, notice);
  }

  tell(notification: Frame): void {
    if (notification.method === TASK_STATUS) return;
    const isLog = notification.method === MESSAGE;
    if (isLog && !wantsLog(notification, this.client, this.#target.lease)) return;
    this.push(withoutRelatedTask(notification).bytes);
  }

  notify(): void {
    // A server tells of a task only what `tell` takes.
  }

  lost(): void {
    // The request for the result fails by itself.
    this.#subscription = undefined;
  }

  protected override ended(): void {
    this.#isOver = true;
    this.#subscription?.stop();
    this.#subscription = undefined;
    const open = [...this.#serverRequests];
    this.#serverRequests.clear();
    for (const [serverRequest, plain] of open) {
      this.client.withdraw(plain, undefined);
      serverRequest.settle({ code: INTERNAL_ERROR, message: 'The call is over.' });
    }
  }

  #cancelTask(): void {
    if (this.#taskId === undefined) return;
    const params = { taskId: this.#taskId };
    void new OwnRequest(this.client, TASKS_CANCEL, params).at(this.#target.lease);
  }
}

/**
 * Sends a call of a client that knows no tasks: a tool that only runs as one is run for it.
 */
export async function awaitTaskIfRequired(
  call: Request,
  lease: Lease,
  { table, tools }: TaskState,
): Promise<void> {
  const support = tools.known(lease) ?? (await tools.read(lease));
  if (call.isSettled) return;
  const { bytes, nameStart, nameEnd } = call.frame;
  const name = parseString(bytes, nameStart, nameEnd) ?? '';
  const isTask = support.get(name) === 'required';
  lease.dispatch(isTask ? new AwaitedTask(call, { lease, table }) : call);
}

/** A server request with no word of the task that it is for. */
class PlainServerRequest extends ForwardedServerRequest {
  readonly #settled: () => void;

  constructor(original: ServerRequest, settled: () => void) {
    super(original, withoutRelatedTask(original.frame));
    this.#settled = settled;
  }

  override settle(reply: Reply): void {
    this.#settled();
    super.settle(reply);
  }
}
