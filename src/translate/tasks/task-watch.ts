// Sends `notifications/tasks` on a listen stream: from the listen stream of a modern server, or from the
// states that a legacy server reports (SEP-2663).
import { GatewayError } from '../../base/errors.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { UNASKABLE } from '../../mcp/errors.ts';
import { TASK_UPDATE } from '../../mcp/modern-methods.ts';
import { taskKind } from '../../mcp/subscription.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';
import { SilentClient } from '../../ports/silent-client.ts';
import type { Answer } from '../own-request.ts';

import type { PolledTasks } from './polled-tasks.ts';
import type { TaskClaims } from './task.ts';
import { withParamsTaskId } from './task-text.ts';

/** Called with a notification about a task, and a kind that is the same for all messages about this task. */
export type TellTask = (message: Buffer, kind: string) => void;

/** The tasks of one stream at one server. */
export class TaskWatch extends SilentClient {
  readonly #tasks: PolledTasks;
  readonly #tell: TellTask;
  /** By instance. */
  readonly #leases = new Map<string, Lease>();
  /** The client's id of a task, by the kind of messages about it. */
  readonly #ids = new Map<string, string>();
  readonly #ends: (() => void)[] = [];
  #hasLeft = false;

  constructor(owner: Downstream, tasks: PolledTasks, tell: TellTask) {
    super(owner.principal, owner, UNASKABLE.modern);
    this.#tasks = tasks;
    this.#tell = tell;
  }

  /**
   * Watches a task.
   * @param id the client's
   * @returns false if it is not a task of this client at this server, or can't be watched
   */
  async watch(id: string): Promise<boolean> {
    const claims = this.#tasks.table.open(id, this.principal);
    if (claims?.server !== this.#tasks.backend.name) return false;
    const lease = await this.#leaseAt(claims.at);
    if (lease?.identity === undefined || this.#hasLeft) return false;
    return lease.identity.era === 'modern'
      ? await this.#subscribe(lease, claims, id)
      : await this.#follow(lease, claims, id);
  }

  override notify(message: Buffer, kind: string | undefined): void {
    const id = kind === undefined ? undefined : this.#ids.get(kind);
    if (id !== undefined) this.#tell(withParamsTaskId(scan(message), id).bytes, taskKind(id));
  }

  leave(): void {
    this.#hasLeft = true;
    for (const end of this.#ends.splice(0)) end();
    for (const lease of this.#leases.values()) lease.leave();
    this.#leases.clear();
  }

  async #leaseAt(at: string): Promise<Lease | undefined> {
    const known = this.#leases.get(at);
    if (known !== undefined) return known;
    const lease = this.#tasks.backend.acquireById(this, at);
    if (lease === undefined) return undefined;
    this.#leases.set(at, lease);
    await lease.join(undefined);
    await lease.ready().catch(() => undefined);
    return lease;
  }

  async #subscribe(lease: Lease, claims: TaskClaims, id: string): Promise<boolean> {
    this.#ids.set(taskKind(claims.taskId), id);
    return (await lease.watchTask(claims.taskId)) === undefined;
  }

  async #follow(lease: Lease, claims: TaskClaims, id: string): Promise<boolean> {
    const task = this.#tasks.taskOf(claims, this);
    const read = (): Promise<Answer> => this.#tasks.inquiry(task, lease).state();
    // Checks that it exists. After the answer, the server's notifications reach the task.
    const first = await read();
    if (first instanceof GatewayError || first.resultStart < 0 || this.#hasLeft) return false;
    const changed = oneAtATime(async () => {
      const outcome = await read();
      if (this.#hasLeft || outcome instanceof GatewayError || outcome.resultStart < 0) return;
      this.#tell(updateOf(outcome), taskKind(id));
    });
    this.#ends.push(task.watch(changed));
    return true;
  }
}

/** Calls `work` again if it was requested during a call, but never twice at once. */
function oneAtATime(work: () => Promise<void>): () => void {
  let isWorking = false;
  let isDue = false;
  const workOff = async (): Promise<void> => {
    isWorking = true;
    while (isDue) {
      isDue = false;
      await work();
    }
    isWorking = false;
  };
  return () => {
    isDue = true;
    if (!isWorking) void workOff();
  };
}

/** The notification with the whole state of a task. */
function updateOf({ bytes, resultStart, resultEnd }: Frame): Buffer {
  const head = Buffer.from(`{"jsonrpc":"2.0","method":"${TASK_UPDATE}","params":`);
  return Buffer.concat([head, bytes.subarray(resultStart, resultEnd), Buffer.from('}')]);
}
