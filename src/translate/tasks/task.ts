// What happens to a task, from the response that names it until nobody asks for it any more, and the
// table of all tasks. A task belongs to one principal: what its server says of it, and asks for it, reaches
// that one and nobody else. How depends on its client: `wait-task`, `poll-task`
// (docs/adr/0010-a-task-and-its-two-policies.md).

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

/** However long a task lives, longer than this since its last use nothing is kept of it here. */
const MAX_KEPT_MS = 86_400_000;
const TERMINAL: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);
/** What the ids of tasks are sealed for. */
const PURPOSE = 't1';
const MAX_TASKS = 10_000;
const MAX_PER_PRINCIPAL = 1_000;
/** What is no more is not counted: there are only so many tasks, and each stays until its time is over. */
const SMALL_BYTES = 2048;
/** Tasks that are over, of which it is remembered; those that were last. */
const MAX_OVER = 10_000;

/** Which task it is. */
export interface TaskClaims {
  /** Name of the server that runs the task. */
  readonly server: string;
  /** Which of its instances, as a lease names it. */
  readonly at: string;
  /** The server's own id. */
  readonly taskId: string;
  /** Key of the principal that it belongs to. */
  readonly principal: string;
}

/** Whether a task with this status changes no more. */
export function isTerminal(status: unknown): boolean {
  return TERMINAL.has(status);
}

/** A task. By itself it tells its client nothing, and asks it nothing: a modern server's. */
export class Task implements TaskSubscriber {
  readonly claims: TaskClaims;
  readonly principal: Principal;
  readonly version: string;
  /** What the client can be asked. */
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

  /** As its client knows it. */
  get id(): string {
    this.#id ??= this.#table.idOf(this.claims);
    return this.#id;
  }

  /** What it costs to keep besides itself, in bytes. */
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
    // Nothing is asked.
  }

  tell(_notification: Frame): void {
    // Its client is told otherwise.
  }

  notify(): void {
    // A server tells of a task only what `tell` takes.
  }

  /**
   * Is told of the task from now on.
   * @param call the one that is about it
   * @param isMaker whether that call made it
   */
  follow(call: Canceller | undefined, isMaker: boolean): void {
    if (this.#isClosed) return;
    this.#subscription = call?.follow?.(this.claims.taskId, this, isMaker) ?? this.#subscription;
  }

  /** Notes what a server said of the task. */
  noted({ status, ttlMs }: Pick<TaskState, 'status' | 'ttlMs'>): void {
    if (this.#isClosed) return;
    const keptMs = typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : MAX_KEPT_MS;
    this.#expiry?.cancel();
    this.#expiry = after(Math.min(keptMs, MAX_KEPT_MS), () => this.close());
    if (isTerminal(status)) this.settled();
  }

  /** The server has nothing more to say of the task; whose it is stays known. */
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
   * Nothing of it is kept any more.
   * @param isOver whether there is no such task at the server, as far as anybody knows
   */
  close(isOver = true): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#expiry?.cancel();
    this.settled();
    this.#table.forget(this, isOver);
    this.closed();
  }

  /** It costs more now, or less. */
  protected resized(): void {
    this.#table.resized(this);
  }

  /** Told once, when nothing of it is kept any more. */
  protected closed(): void {
    // Nothing is open.
  }
}

/** What a value costs that was parsed, in bytes. */
export function costOf(value: unknown): number {
  if (value === undefined) return 0;
  const text = jsonBytes(value);
  return parsedCost(text, 0, text.length);
}

/**
 * All tasks that clients of the gateway have at its servers: whose each is, bounded in number for each
 * principal and altogether. An id works without an entry here, unless its task is known to be over; what
 * is lost with one is who is told.
 */
export class TaskTable {
  readonly #sealer: Sealer;
  /** Oldest first. */
  readonly #tasks = new Map<string, Task>();
  readonly #amounts = new Map<Task, HeldAmount>();
  readonly #perPrincipal = new Counts();
  readonly #held: HeldBytes;
  /** Whose tasks are over: a server may give such an id to somebody else's. */
  readonly #over = new RecentMap<string, true>(MAX_OVER);

  /**
   * @param secrets texts that the keys of ids are made of; none: a random key that dies with the process
   * @param held where tasks count
   */
  constructor(secrets: readonly string[], held: HeldBytes = UNBOUNDED) {
    this.#held = held;
    this.#sealer = new Sealer(PURPOSE, secrets);
  }

  get size(): number {
    return this.#tasks.size;
  }

  /**
   * The id that the owner of a task knows. Nobody can guess or change one. It is the same each time, since
   * clients compare them; it outlives the gateway only where `state.keys` is set (docs/protocol.md#handles,
   * #tasks).
   */
  idOf({ server, at, taskId, principal }: TaskClaims): string {
    return this.#sealer.sealAlike(jsonText([server, at, taskId, principal]));
  }

  /**
   * The task that a client names, and with it the server that it belongs to. No server is asked.
   * @param id `params.taskId` as the client sent it
   * @returns undefined: it is unknown, changed, over or somebody else's
   */
  open(id: unknown, principal: Principal): TaskClaims | undefined {
    const claims = this.#claimsIn(id);
    if (claims?.principal !== principal.key) return undefined;
    const owner = this.#tasks.get(keyOf(claims))?.principal.key;
    if (owner === undefined) return this.#over.get(overKeyOf(claims)) === true ? undefined : claims;
    return owner === principal.key ? claims : undefined;
  }

  /** What is kept of a task. */
  find(claims: TaskClaims): Task | undefined {
    return this.#tasks.get(keyOf(claims));
  }

  /** Keeps a task, in place of what was kept of it. */
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

  /** A task costs more now, or less. */
  resized(task: Task): void {
    const { heldBytes } = task;
    this.#amounts.get(task)?.set(heldBytes > SMALL_BYTES ? heldBytes : 0);
  }

  /** @param isOver whether there is no such task any more: its id means none of its owner's now */
  forget(task: Task, isOver: boolean): void {
    const key = keyOf(task.claims);
    if (this.#tasks.get(key) !== task) return;
    if (isOver) this.#over.set(overKeyOf(task.claims), true);
    this.#tasks.delete(key);
    this.#amounts.get(task)?.release();
    this.#amounts.delete(task);
    this.#perPrincipal.remove(quotaKeyOf(task.principal));
  }

  /** Lets go of all of them. */
  close(): void {
    for (const task of [...this.#tasks.values()]) task.close();
  }

  /** What an id says; undefined when it is none of this gateway's. */
  #claimsIn(id: unknown): TaskClaims | undefined {
    const text = isTextWithin(id, TEXT_LIMITS.taskId) ? this.#sealer.open(id) : undefined;
    const claims = text === undefined ? undefined : parseText(text);
    if (!Array.isArray(claims) || claims.some((claim) => typeof claim !== 'string')) {
      return undefined;
    }
    const [server, at, taskId, principal] = claims as [string, string, string, string];
    return { server, at, taskId, principal };
  }

  /** Forgets the oldest of its owner while there is no room for it. */
  #makeRoom({ principal, heldBytes }: Task): void {
    const hasRoom = (): boolean => this.#held.client(principal).hasRoom(heldBytes);
    while (!hasRoom() && this.#forgetOldest(quotaKeyOf(principal)));
  }

  /**
   * Forgets the oldest task.
   * @param owner whose; absent: anybody's
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

/** Which task it is that a server made where a lease is, for this owner. */
export function claimsOf(
  { server, at }: Pick<Lease, 'server' | 'at'>,
  taskId: string,
  { principal }: Pick<Downstream, 'principal'>,
): TaskClaims {
  return { server, at, taskId, principal: principal.key };
}

/** The same for two owners. */
function keyOf({ server, at, taskId }: TaskClaims): string {
  return jsonText([server, at, taskId]);
}

function overKeyOf(claims: TaskClaims): string {
  return `${claims.principal} ${keyOf(claims)}`;
}
