// A task that belongs to one principal: what the gateway keeps of it while it runs. What the server
// says of it, and asks for it, reaches its owner and nobody else.
import { after, type Timer } from '../../base/clock.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { parsedCost, parseString } from '../../jsonrpc/parse.ts';
import { jsonBytes } from '../../jsonrpc/serialize.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { DEFAULT_SHARED_LEVEL, severityOf } from '../../mcp/log-levels.ts';
import type { Downstream, ServerRequest } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';
import type { Canceller, TaskSubscriber, TaskSubscription } from '../../ports/request.ts';
import { UNASKABLE } from '../../ports/silent-client.ts';
import type { TaskClaims } from './task-ids.ts';

/** However long a task lives, longer than this since its last use nothing is kept of it here. */
const MAX_KEPT_MS = 86_400_000;
const TERMINAL: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

/** Whether a task in this state changes no more. */
export function isTerminal(status: unknown): boolean {
  return TERMINAL.has(status);
}

/** Where a task is kept. */
export interface TaskKeeper {
  /** The id that the owner of a task knows. */
  idOf(claims: TaskClaims): string;
  /** @param isOver whether there is no such task any more: its id means none of its owner's now */
  forget(task: OwnedTask, isOver: boolean): void;
  /** A task costs more now, or less. */
  resized(task: OwnedTask): void;
}

/** What a value costs that was parsed, in bytes. */
export function costOf(value: unknown): number {
  if (value === undefined) return 0;
  const text = jsonBytes(value);
  return parsedCost(text, 0, text.length);
}

const NO_CAPABILITIES: ClientCapabilities = {};

/** A task as its owner's side sees it. By itself it tells its owner nothing, and has nobody to ask. */
export class OwnedTask implements TaskSubscriber {
  readonly claims: TaskClaims;
  readonly id: string;
  readonly principal: Principal;
  readonly version: string;
  readonly info: unknown;
  readonly #infoBytes: number;
  readonly #keeper: TaskKeeper;
  #subscription: TaskSubscription | undefined;
  #expiry: Timer | undefined;
  #isClosed = false;

  constructor(claims: TaskClaims, owner: Downstream, keeper: TaskKeeper) {
    this.claims = claims;
    this.id = keeper.idOf(claims);
    this.principal = owner.principal;
    this.version = owner.version;
    this.info = owner.info;
    this.#infoBytes = costOf(owner.info);
    this.#keeper = keeper;
  }

  /** What the owner can be asked. */
  get capabilities(): ClientCapabilities {
    return NO_CAPABILITIES;
  }

  ask(serverRequest: ServerRequest): void {
    serverRequest.settle(UNASKABLE.modernServer);
  }

  withdraw(_serverRequest: ServerRequest, _notice: Frame | undefined): void {
    // Nothing is asked.
  }

  tell(_notification: Frame): void {
    // What its owner is to know comes otherwise.
  }

  /** What it costs to keep besides itself, in bytes. */
  get heldBytes(): number {
    return this.#infoBytes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
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
  noted(status: unknown, ttlMs: unknown): void {
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
    this.#keeper.forget(this, isOver);
    this.closed();
  }

  /** It costs more now, or less. */
  protected resized(): void {
    this.#keeper.resized(this);
  }

  /** Told once, when nothing of it is kept any more. */
  protected closed(): void {
    // Most keep nothing of their own.
  }
}

/**
 * Whether `client` wants the log message that a server sends for its task, by what it asked for itself or
 * at its place (docs/protocol.md#log-messages).
 */
export function wantsLog(
  message: Frame,
  client: Downstream | undefined,
  lease: Pick<Lease, 'severity' | 'isShared'>,
): boolean {
  const severity = severityOf(parseString(message.bytes, message.levelStart, message.levelEnd));
  const unset = lease.isShared ? severityOf(DEFAULT_SHARED_LEVEL) : 0;
  return (severity ?? 0) >= (client?.logThreshold ?? lease.severity ?? unset ?? 0);
}
