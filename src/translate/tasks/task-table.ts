// All tasks that clients of the gateway have at its servers: whose each is, bounded in number for each
// principal and altogether. An id works without an entry here, unless its task is known to be over; what
// is lost with one is who is told.
import { HeldAmount, type HeldBytes, type HeldOwner, UNBOUNDED } from '../../base/held-bytes.ts';
import { RecentMap } from '../../base/recent-map.ts';
import { invalidParams } from '../../jsonrpc/error.ts';
import { type Principal, quotaKeyOf } from '../../ports/principal.ts';
import type { TaskTools } from './offered.ts';
import type { OwnedTask, TaskKeeper } from './owned-task.ts';
import { type TaskClaims, TaskIds, taskKey } from './task-ids.ts';

const MAX_TASKS = 10_000;
const MAX_PER_PRINCIPAL = 1_000;
/** What is no more is not counted: there are only so many tasks, and each stays until its time is over. */
const SMALL_BYTES = 2048;
/** Tasks that are over, of which it is remembered; those that were last. */
const MAX_OVER = 10_000;

/** What all endpoints share for tasks. */
export interface TaskState {
  readonly table: TaskTable;
  readonly tools: TaskTools;
}

/** The same for ids that are unknown, foreign or changed: nobody learns which. */
export const UNKNOWN_TASK = invalidParams('there is no such task.');

/** Tasks of all clients. */
export class TaskTable implements TaskKeeper {
  readonly #ids: TaskIds;
  /** Oldest first. */
  readonly #tasks = new Map<string, OwnedTask>();
  readonly #amounts = new Map<OwnedTask, HeldAmount>();
  readonly #perPrincipal = new Map<string, number>();
  readonly #held: HeldBytes;
  /** Whose tasks are over: a server may give such an id to somebody else's. */
  readonly #over = new RecentMap<string, true>(MAX_OVER);

  /**
   * @param secrets texts that the keys of ids are made of; none: a random key
   * @param held where tasks count
   */
  constructor(secrets: readonly string[], held: HeldBytes = UNBOUNDED) {
    this.#held = held;
    this.#ids = new TaskIds(secrets);
  }

  get size(): number {
    return this.#tasks.size;
  }

  /** The id that the owner of a task knows. */
  idOf(claims: TaskClaims): string {
    return this.#ids.seal(claims);
  }

  /**
   * The task that a client names, and with it the server that it belongs to. No server is asked.
   * @param id `params.taskId` as the client sent it
   * @returns undefined: it is unknown, changed, over or somebody else's
   */
  open(id: unknown, principal: Principal): TaskClaims | undefined {
    const claims = this.#ids.open(id, principal);
    if (claims === undefined) return undefined;
    const owner = this.#tasks.get(taskKey(claims))?.principal.key;
    if (owner === undefined) return this.#over.get(overKey(claims)) === true ? undefined : claims;
    return owner === principal.key ? claims : undefined;
  }

  /** What is kept of a task. */
  find(claims: TaskClaims): OwnedTask | undefined {
    return this.#tasks.get(taskKey(claims));
  }

  /** Keeps a task, in place of what was kept of it. */
  keep<Task extends OwnedTask>(task: Task): Task {
    const key = taskKey(task.claims);
    this.#tasks.get(key)?.close();
    this.#over.delete(overKey(task.claims));
    const owner = quotaKeyOf(task.principal);
    this.#makeRoom(task);
    this.#tasks.set(key, task);
    const own = (this.#perPrincipal.get(owner) ?? 0) + 1;
    this.#perPrincipal.set(owner, own);
    if (own > MAX_PER_PRINCIPAL)
      this.#forgetOldest((other) => quotaKeyOf(other.principal) === owner);
    else if (this.#tasks.size > MAX_TASKS) this.#forgetOldest(() => true);
    const find = (): HeldOwner => this.#held.client(task.principal);
    this.#amounts.set(task, new HeldAmount(find, 'suspended', () => task.close(false)));
    this.resized(task);
    return task;
  }

  resized(task: OwnedTask): void {
    const { heldBytes } = task;
    this.#amounts.get(task)?.set(heldBytes > SMALL_BYTES ? heldBytes : 0);
  }

  forget(task: OwnedTask, isOver: boolean): void {
    const key = taskKey(task.claims);
    if (this.#tasks.get(key) !== task) return;
    if (isOver) this.#over.set(overKey(task.claims), true);
    this.#tasks.delete(key);
    this.#amounts.get(task)?.release();
    this.#amounts.delete(task);
    const owner = quotaKeyOf(task.principal);
    const own = (this.#perPrincipal.get(owner) ?? 0) - 1;
    if (own > 0) this.#perPrincipal.set(owner, own);
    else this.#perPrincipal.delete(owner);
  }

  /** Lets go of all of them. */
  close(): void {
    for (const task of [...this.#tasks.values()]) task.close();
  }

  /** Forgets the oldest of its owner while there is no room for it. */
  #makeRoom({ principal, heldBytes }: OwnedTask): void {
    const isTheirs = (other: OwnedTask): boolean =>
      quotaKeyOf(other.principal) === quotaKeyOf(principal);
    const hasRoom = (): boolean => this.#held.client(principal).hasRoom(heldBytes);
    while (!hasRoom() && this.#forgetOldest(isTheirs));
  }

  /** @returns whether there was one */
  #forgetOldest(fits: (task: OwnedTask) => boolean): boolean {
    for (const task of this.#tasks.values()) {
      if (!fits(task)) continue;
      task.close(false);
      return true;
    }
    return false;
  }
}

function overKey(claims: TaskClaims): string {
  return `${claims.principal} ${taskKey(claims)}`;
}
