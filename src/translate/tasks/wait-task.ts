// A task whose client waits for its result, or lets the gateway wait.
import { after, type Timer } from '../../base/clock.ts';
import { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { DEFAULT_SHARED_LEVEL, severityOf } from '../../mcp/log-levels.ts';
import { MESSAGE, PROGRESS, TASK_STATUS } from '../../mcp/methods.ts';
import { withoutRelatedTask, withRelatedTask } from '../../mcp/related-task.ts';
import {
  type Downstream,
  type Reply,
  replyForNobody,
  type ServerRequest,
} from '../../ports/downstream.ts';
import { ForwardedServerRequest } from '../../ports/forwarded-request.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Request } from '../../ports/request.ts';
import { Task, type TaskClaims, type TaskTable } from './task.ts';
import { taskStateOf, withParamsTaskId } from './task-text.ts';

/** How long a server request waits for `tasks/result` of a client that reads nothing else. */
const HOLD_MS = 10_000;

/** How a legacy client knows a task. */
export type KnownAs = 'task' | 'call';

/** The log levels that a waiting client may have set. */
type LogLevels = Pick<Lease, 'severity' | 'isShared'>;

/**
 * The policy "wait": messages and requests of the server go to the stream of a request that waits for the
 * result, or to the session that uses the task if there is none (2025-11-25 basic/utilities/tasks). The
 * client knows it as a task, by its id, or only as its call.
 */
export class WaitTask extends Task {
  #client: Downstream | undefined;
  readonly #knownAs: KnownAs;
  readonly #levels: LogLevels;
  /** Requests for the result in flight, the latest last. */
  readonly #waiting = new Set<Request>();
  readonly #open = new Map<ServerRequest, TaskServerRequest>();

  /** @param levels the log levels that its client has set */
  constructor(
    claims: TaskClaims,
    client: Downstream,
    levels: LogLevels,
    table: TaskTable,
    knownAs: KnownAs = 'task',
  ) {
    super(claims, client, table);
    this.usedBy(client);
    this.#levels = levels;
    this.#knownAs = knownAs;
  }

  override get heldBytes(): number {
    let bytes = super.heldBytes;
    for (const { frame } of this.#open.values()) bytes += frame.bytes.length;
    return bytes;
  }

  /** A session uses the task. */
  usedBy(client: Downstream): void {
    this.#client = client;
    this.capabilities = client.capabilities;
  }

  /** A session is over. */
  left(client: Downstream): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.capabilities = {};
    for (const asked of [...this.#open.values()])
      if (asked.release()) asked.settle(replyForNobody(asked));
  }

  /** A client waits for the result, so server requests can go to the stream of its request. */
  waits(request: Request): void {
    this.#waiting.add(request);
    for (const asked of this.#open.values())
      if (asked.release()) asked.put(request.client, request);
  }

  /** It no longer waits. */
  waitsNoMore(request: Request): void {
    this.#waiting.delete(request);
  }

  override ask(serverRequest: ServerRequest): void {
    const asked = new TaskServerRequest(serverRequest, this);
    this.#open.set(serverRequest, asked);
    this.resized();
    const request = [...this.#waiting].at(-1);
    const client = request?.client ?? this.#client;
    if (client === undefined) asked.settle(replyForNobody(asked));
    else if (request !== undefined || client.isListening === true) asked.put(client, request);
    else asked.hold(client);
  }

  override withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void {
    const asked = this.#open.get(serverRequest);
    this.answered(serverRequest);
    asked?.takeBack(notice);
  }

  override tell(notification: Frame): void {
    const { method } = notification;
    if (method === MESSAGE && !this.#wantsLog(notification)) return;
    const isStatus = method === TASK_STATUS;
    const isCall = this.#knownAs === 'call';
    if (isStatus && isCall) return;
    const own = isStatus ? withParamsTaskId(notification, this.id) : notification;
    const { bytes } = this.toClient(own);
    const request = [...this.#waiting].at(-1);
    // While the client does not read, newer messages replace older ones.
    const kind = isStatus || method === PROGRESS ? `${method} ${this.id}` : undefined;
    if (request?.push(bytes) !== true && !isCall) this.#client?.notify(bytes, kind);
    if (isStatus) this.noted(taskStateOf(bytes, own.paramsStart, own.paramsEnd));
  }

  /** A server request was answered, or will not be. */
  answered(serverRequest: ServerRequest): void {
    this.#open.delete(serverRequest);
    this.resized();
  }

  /** A message of the server about the task, for the client. */
  toClient(message: Frame): Frame {
    return this.#knownAs === 'call'
      ? withoutRelatedTask(message)
      : withRelatedTask(message, this.claims.taskId, this.id);
  }

  /** A message of the client about the task, for the server. */
  toServer(message: Frame): Frame {
    return this.#knownAs === 'call'
      ? message
      : withRelatedTask(message, this.id, this.claims.taskId);
  }

  protected override closed(): void {
    this.#takeBack(replyForNobody);
  }

  /**
   * Nobody waits for it any more.
   * @param reply to open server requests
   */
  end(reply: Reply): void {
    this.settled();
    this.#takeBack(() => reply);
  }

  /** Withdraws all server requests. */
  #takeBack(replyTo: (serverRequest: ServerRequest) => Reply): void {
    const open = [...this.#open];
    this.#open.clear();
    for (const [serverRequest, asked] of open) {
      asked.takeBack(undefined);
      serverRequest.settle(replyTo(serverRequest));
    }
  }

  /**
   * Whether the client wants a log message about its task, by the level of its call or its session
   * (docs/protocol.md#log-messages).
   */
  #wantsLog({ bytes, levelStart, levelEnd }: Frame): boolean {
    const { severity, isShared } = this.#levels;
    const unset = isShared ? severityOf(DEFAULT_SHARED_LEVEL) : 0;
    const wanted = this.#client?.logThreshold ?? severity ?? unset ?? 0;
    return (severityOf(parseString(bytes, levelStart, levelEnd)) ?? 0) >= wanted;
  }
}

/** A server request of a task, for the client that waits for the task. */
class TaskServerRequest extends ForwardedServerRequest {
  readonly #task: WaitTask;
  #held: Timer | undefined;
  #client: Downstream | undefined;

  constructor(original: ServerRequest, task: WaitTask) {
    super(original, task.toClient(original.frame));
    this.#task = task;
  }

  /** Sends it later, because the client may request the result before. */
  hold(client: Downstream): void {
    this.#held = after(HOLD_MS, () => this.put(client, undefined));
  }

  /** Does not send it later any more. @returns whether it was waiting */
  release(): boolean {
    const isHeld = this.#held !== undefined;
    this.#held?.cancel();
    this.#held = undefined;
    return isHeld;
  }

  /** Sends it. */
  put(client: Downstream, request: Request | undefined): void {
    this.#held = undefined;
    this.#client = client;
    client.ask(this, request);
  }

  /** It is no longer needed. */
  takeBack(notice: Frame | undefined): void {
    this.#held?.cancel();
    this.#client?.withdraw(this, notice);
  }

  override settle(reply: Reply): void {
    this.#task.answered(this.original);
    super.settle(reply instanceof Frame ? this.#task.toServer(reply) : reply);
  }

  override progress(notification: Frame): void {
    super.progress(this.#task.toServer(notification));
  }
}
