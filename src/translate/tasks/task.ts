// A task, from the response that names it until nobody asks for it any more, and the table of all tasks. A
// task belongs to one principal: messages and requests of its server about it reach only that one. How they
// do depends on the client: `wait-task`, `poll-task` (docs/adr/0010-a-task-and-its-two-policies.md).

import { after, type Timer } from '../../base/clock.ts';
import { Counts } from '../../base/counts.ts';
import { HeldAmount, type HeldBytes, type HeldOwner, UNBOUNDED } from '../../base/held-bytes.ts';
import { RecentMap } from '../../base/recent-map.ts';
import { Sealer } from '../../base/sealer.ts';
import { isTextWithin, TEXT_LIMITS } from '../../base/text-limits.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { parsedCost, parseText } from '../../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../../jsonrpc/serialize.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { UNASKABLE } from '../../mcp/errors.ts';
import type { Downstream, ServerRequest } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';
import { type Principal, quotaKeyOf } from '../../ports/principal.ts';
import type { Canceller, TaskSubscriber, TaskSubscription } from '../../ports/request.ts';
import type { TaskState } from './task-text.ts';

/** A task is dropped at the latest after this time without use. */
const MAX_KEPT_MS = 86_400_000;
const TERMINAL: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);
/** The purpose for which ids of tasks are sealed. */
const PURPOSE = 't1';
const MAX_TASKS = 10_000;
const MAX_PER_PRINCIPAL = 1_000;
/** Smaller sizes are not counted: the number of tasks is limited, and each is dropped in time. */
const SMALL_BYTES = 2048;
/** The most ids of finished tasks that are remembered; the oldest are dropped first. */
const MAX_OVER = 10_000;

/** Identifies a task. */
export interface TaskClaims {
  /** The name of its server. */
  readonly server: string;
  /** Its instance, as in `Lease.at`. */
  readonly at: string;
  /** The server's own id. */
  readonly taskId: string;
  /** The key of its principal. */
  readonly principal: string;
}

/** Whether a task with this status does not change any more. */
export function isTerminal(status: unknown): boolean {
  return TERMINAL.has(status);
}

/** A task. By itself it sends its client nothing: this is right for the tasks of modern servers. */
export class Task implements TaskSubscriber {
  readonly claims: TaskClaims;
  readonly principal: Principal;
  readonly version: string;
  /** The server requests that the client supports. */
  capabilities: ClientCapabilities = {};
  readonly info: unknown;
  readonly #infoBytes: number;
  readonly #table: TaskTable;
  #id: string | undefined;
  #subscription: TaskSubscription | undefined;
  #expiry: Timer | undefined;
  #isClosed = false;

  constructor(claims: TaskClaims, owner: Downstream, table: TaskTable) {
    this.claims = claims;
    this.principal = owner.principal;
    this.version = owner.version;
    this.info = owner.info;
    this.#infoBytes = costOf(owner.info);
    this.#table = table;
  }

  /** The client's id. */
  get id(): string {
    this.#id ??= this.#table.idOf(this.claims);
    return this.#id;
  }

  /** The bytes that it takes in addition to itself. */
  get heldBytes(): number {
    return this.#infoBytes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  ask(serverRequest: ServerRequest): void {
    serverRequest.settle(UNASKABLE.modernServer);
  }

  withdraw(_serverRequest: ServerRequest, _notice: Frame | undefined): void {
    // It has no server requests.
  }

  tell(_notification: Frame): void {
    // Its client gets notifications in another way.
  }

  notify(): void {
    // Notifications about tasks come to `tell`.
  }

  /**
   * Subscribes to the messages about the task.
   * @param call about the task
   * @param isMaker whether that call made it
   */
  follow(call: Canceller | undefined, isMaker: boolean): void {
    if (this.#isClosed) return;
    this.#subscription = call?.follow?.(this.claims.taskId, this, isMaker) ?? this.#subscription;
  }

  /** Notes what a server said about the task. */
  noted({ status, ttlMs }: Pick<TaskState, 'status' | 'ttlMs'>): void {
    if (this.#isClosed) return;
    const keptMs = typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : MAX_KEPT_MS;
    this.#expiry?.cancel();
    this.#expiry = after(Math.min(keptMs, MAX_KEPT_MS), () => this.close());
    if (isTerminal(status)) this.settled();
  }

  /** The server will send nothing more about the task. Its owner is still known. */
  settled(): void {
    const subscription = this.#subscription;
    this.#subscription = undefined;
    subscription?.stop();
  }

  lost(): void {
    this.#subscription = undefined;
    this.close(false);
  }

  /**
   * Drops the task.
   * @param isOver whether the server no longer has the task, as far as is known
   */
  close(isOver = true): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#expiry?.cancel();
    this.settled();
    this.#table.forget(this, isOver);
    this.closed();
  }

  /** Its bytes have changed. */
  protected resized(): void {
    this.#table.resized(this);
  }

  /** Called once, when it is dropped. */
  protected closed(): void {
    // For subclasses that hold something.
  }
}

/** The cost of a parsed value, in bytes. */
export function costOf(value: unknown): number {
  if (value === undefined) return 0;
  const text = jsonBytes(value);
  return parsedCost(text, 0, text.length);
}

/**
 * All tasks of clients. It knows their owners, and limits their number for each principal and in total. An id
 * works without an entry here, unless its task is known to be over. Without an entry, the client only gets no
 * notifications.
 */
export class TaskTable {
  readonly #sealer: Sealer;
  /** Oldest first. */
  readonly #tasks = new Map<string, Task>();
  readonly #amounts = new Map<Task, HeldAmount>();
  readonly #perPrincipal = new Counts();
  readonly #held: HeldBytes;
  /** Finished tasks: a server may use such an id again for another client. */
  readonly #over = new RecentMap<string, true>(MAX_OVER);

  /**
   * @param secrets texts that the keys for ids are derived from; none: a random key that ends with the
   *   process
   * @param held counts the bytes of tasks
   */
  constructor(secrets: readonly string[], held: HeldBytes = UNBOUNDED) {
    this.#held = held;
    this.#sealer = new Sealer(PURPOSE, secrets);
  }

  get size(): number {
    return this.#tasks.size;
  }

  /**
   * The id for the owner of a task. It can't be guessed or changed. It is always the same for a task, because
   * clients compare ids. It is valid after a restart only with a fixed key (docs/protocol.md#handles,
   * #tasks).
   */
  idOf({ server, at, taskId, principal }: TaskClaims): string {
    return this.#sealer.sealAlike(jsonText([server, at, taskId, principal]));
  }

  /**
   * The task of an id from a client, with its server. No server is asked.
   * @param id `params.taskId` of the client
   * @returns undefined if it is unknown, changed, over, or belongs to another client
   */
  open(id: unknown, principal: Principal): TaskClaims | undefined {
    const claims = this.#claimsIn(id);
    if (claims?.principal !== principal.key) return undefined;
    const owner = this.#tasks.get(keyOf(claims))?.principal.key;
    if (owner === undefined) return this.#over.get(overKeyOf(claims)) === true ? undefined : claims;
    return owner === principal.key ? claims : undefined;
  }

  /** The task that is kept here, if there is one. */
  find(claims: TaskClaims): Task | undefined {
    return this.#tasks.get(keyOf(claims));
  }

  /** Keeps a task, and replaces an earlier object for it. */
  keep<Kind extends Task>(task: Kind): Kind {
    const key = keyOf(task.claims);
    this.#tasks.get(key)?.close();
    this.#over.delete(overKeyOf(task.claims));
    const owner = quotaKeyOf(task.principal);
    this.#makeRoom(task);
    this.#tasks.set(key, task);
    this.#perPrincipal.add(owner);
    if (this.#perPrincipal.of(owner) > MAX_PER_PRINCIPAL) this.#forgetOldest(owner);
    else if (this.#tasks.size > MAX_TASKS) this.#forgetOldest();
    const find = (): HeldOwner => this.#held.client(task.principal);
    this.#amounts.set(task, new HeldAmount(find, 'suspended', () => task.close(false)));
    this.resized(task);
    return task;
  }

  /** The bytes of a task have changed. */
  resized(task: Task): void {
    const { heldBytes } = task;
    this.#amounts.get(task)?.set(heldBytes > SMALL_BYTES ? heldBytes : 0);
  }

  /** @param isOver whether the task no longer exists, so that its id is no longer valid */
  forget(task: Task, isOver: boolean): void {
    const key = keyOf(task.claims);
    if (this.#tasks.get(key) !== task) return;
    if (isOver) this.#over.set(overKeyOf(task.claims), true);
    this.#tasks.delete(key);
    this.#amounts.get(task)?.release();
    this.#amounts.delete(task);
    this.#perPrincipal.remove(quotaKeyOf(task.principal));
  }

  /** Drops all tasks. */
  close(): void {
    for (const task of [...this.#tasks.values()]) task.close();
  }

  /** The content of an id; undefined if it is not an id of this gateway. */
  #claimsIn(id: unknown): TaskClaims | undefined {
    const text = isTextWithin(id, TEXT_LIMITS.taskId) ? this.#sealer.open(id) : undefined;
    const claims = text === undefined ? undefined : parseText(text);
    if (!Array.isArray(claims) || claims.some((claim) => typeof claim !== 'string')) {
      return undefined;
    }
    const [server, at, taskId, principal] = claims as [string, string, string, string];
    return { server, at, taskId, principal };
  }

  /** Drops the oldest tasks of its owner until there is room for it. */
  #makeRoom({ principal, heldBytes }: Task): void {
    const hasRoom = (): boolean => this.#held.client(principal).hasRoom(heldBytes);
    while (!hasRoom() && this.#forgetOldest(quotaKeyOf(principal)));
  }

  /**
   * Drops the oldest task.
   * @param owner of the task; absent: of any owner
   * @returns whether there was one
   */
  #forgetOldest(owner?: string): boolean {
    for (const task of this.#tasks.values()) {
      if (owner !== undefined && quotaKeyOf(task.principal) !== owner) continue;
      task.close(false);
      return true;
    }
    return false;
  }
}

/** Identifies a task that a server made for an owner, on the instance of a lease. */
export function claimsOf(
  { server, at }: Pick<Lease, 'server' | 'at'>,
  taskId: string,
  { principal }: Pick<Downstream, 'principal'>,
): TaskClaims {
  return { server, at, taskId, principal: principal.key };
}

/** The same key for two owners of one task. */
function keyOf({ server, at, taskId }: TaskClaims): string {
  return jsonText([server, at, taskId]);
}

function overKeyOf(claims: TaskClaims): string {
  return `${claims.principal} ${keyOf(claims)}`;
}
