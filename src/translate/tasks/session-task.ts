// A task of a legacy client at a server of its own era: what the server says and asks goes to the
// session that uses the task, under the id that its client knows, on the stream of `tasks/result` where
// there is one (2025-11-25 basic/utilities/tasks).
import { after, type Timer } from '../../base/clock.ts';
import { Frame } from '../../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { MESSAGE, PROGRESS, TASK_STATUS } from '../../mcp/methods.ts';
import { withRelatedTask } from '../../mcp/related-task.ts';
import {
  type Downstream,
  type Reply,
  replyForNobody,
  type ServerRequest,
} from '../../ports/downstream.ts';
import { ForwardedServerRequest } from '../../ports/forwarded-request.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Request } from '../../ports/request.ts';
import { OwnedTask, type TaskKeeper, wantsLog } from './owned-task.ts';
import type { TaskClaims } from './task-ids.ts';
import { taskStateOf, withParamsTaskId } from './task-text.ts';

/** How long a server request waits for `tasks/result` of a client that reads nothing else. */
const HOLD_MS = 10_000;

/** A task that a session uses. */
export class SessionTask extends OwnedTask {
  #client: Downstream | undefined;
  /** Requests for the result that are in flight, the latest last. */
  readonly #waiting = new Set<Request>();
  readonly #serverRequests = new Map<ServerRequest, TaskServerRequest>();

  readonly #lease: Pick<Lease, 'severity' | 'isShared'>;

  /**
   * @param lease where the session's client set which logs it wants
   */
  constructor(
    claims: TaskClaims,
    client: Downstream,
    lease: Pick<Lease, 'severity' | 'isShared'>,
    keeper: TaskKeeper,
  ) {
    super(claims, client, keeper);
    this.#client = client;
    this.#lease = lease;
  }

  override get capabilities(): ClientCapabilities {
    return this.#client?.capabilities ?? {};
  }

  override get heldBytes(): number {
    let serverRequests = 0;
    for (const { frame } of this.#serverRequests.values()) serverRequests += frame.bytes.length;
    return super.heldBytes + serverRequests;
  }

  /** A session uses the task. */
  usedBy(client: Downstream): void {
    this.#client = client;
  }

  /** A session is over. */
  left(client: Downstream): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    for (const serverRequest of [...this.#serverRequests.values()])
      serverRequest.release()?.settleForNobody();
  }

  /** A client waits for the result: it can be asked on the stream of its request. */
  waits(request: Request): void {
    this.#waiting.add(request);
    for (const serverRequest of this.#serverRequests.values())
      serverRequest.release()?.put(request.client, request);
  }

  /** It waits no more. */
  waitsNoMore(request: Request): void {
    this.#waiting.delete(request);
  }

  override ask(serverRequest: ServerRequest): void {
    const asked = new TaskServerRequest(serverRequest, this);
    this.#serverRequests.set(serverRequest, asked);
    this.resized();
    const request = [...this.#waiting].at(-1);
    const client = request?.client ?? this.#client;
    if (client === undefined) asked.settleForNobody();
    else if (request !== undefined || client.isListening === true) asked.put(client, request);
    else asked.hold(HOLD_MS, () => asked.put(client, undefined));
  }

  override withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void {
    const asked = this.#serverRequests.get(serverRequest);
    this.answered(serverRequest);
    asked?.takeBack(notice);
  }

  override tell(notification: Frame): void {
    const isLog = notification.method === MESSAGE;
    if (isLog && !wantsLog(notification, this.#client, this.#lease)) return;
    const isStatus = notification.method === TASK_STATUS;
    const own = isStatus ? withParamsTaskId(notification, this.id) : notification;
    const { bytes } = withRelatedTask(own, this.claims.taskId, this.id);
    const request = [...this.#waiting].at(-1);
    if (request?.push(bytes) !== true) this.#client?.notify(bytes, this.#kindOf(notification));
    if (!isStatus) return;
    const { status, ttlMs } = taskStateOf(bytes, own.paramsStart, own.paramsEnd);
    this.noted(status, ttlMs);
  }

  /** A server request is answered, or will not be. */
  answered(serverRequest: ServerRequest): void {
    this.#serverRequests.delete(serverRequest);
    this.resized();
  }

  protected override closed(): void {
    for (const [serverRequest, asked] of [...this.#serverRequests]) {
      asked.takeBack(undefined);
      serverRequest.settle(replyForNobody(serverRequest));
    }
    this.#serverRequests.clear();
  }

  // Newer news replace older ones while nobody reads.
  #kindOf({ method }: Frame): string | undefined {
    return method === TASK_STATUS || method === PROGRESS ? `${method} ${this.id}` : undefined;
  }
}

/** A server request that the server asks for a task, as the client gets it. */
class TaskServerRequest extends ForwardedServerRequest {
  readonly #task: SessionTask;
  #held: Timer | undefined;
  #client: Downstream | undefined;

  constructor(original: ServerRequest, task: SessionTask) {
    super(original, withRelatedTask(original.frame, task.claims.taskId, task.id));
    this.#task = task;
  }

  /** Waits for somebody to ask. */
  hold(limitMs: number, then: () => void): void {
    this.#held = after(limitMs, () => {
      this.#held = undefined;
      then();
    });
  }

  /** Ends the wait, if it waits. */
  release(): this | undefined {
    if (this.#held === undefined) return undefined;
    this.#held.cancel();
    this.#held = undefined;
    return this;
  }

  /** Asks. */
  put(client: Downstream, request: Request | undefined): void {
    this.#client = client;
    client.ask(this, request);
  }

  /** It is of no use any more. */
  takeBack(notice: Frame | undefined): void {
    this.#held?.cancel();
    this.#client?.withdraw(this, notice);
  }

  /** There is nobody to ask. */
  settleForNobody(): void {
    this.settle(replyForNobody(this));
  }

  override settle(reply: Reply): void {
    this.#task.answered(this.original);
    super.settle(reply instanceof Frame ? this.#forServer(reply) : reply);
  }

  override progress(notification: Frame): void {
    super.progress(this.#forServer(notification));
  }

  #forServer(message: Frame): Frame {
    const { id, claims } = this.#task;
    return withRelatedTask(message, id, claims.taskId);
  }
}
