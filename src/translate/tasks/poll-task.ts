// A task whose client asks for its state from time to time.
import { after, type Timer, within } from '../../base/clock.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { TASK_STATUS, TASKS_RESULT } from '../../mcp/methods.ts';
import { type Downstream, replyForNobody, type ServerRequest } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Canceller } from '../../ports/request.ts';
import { KeyedServerRequests } from '../keyed-server-requests.ts';
import { OwnRequest } from '../own-request.ts';
import { costOf, Task, type TaskClaims, type TaskTable } from './task.ts';

/** How long a server may take to ask once somebody waits for the result. */
const ASK_LIMIT_MS = 250;

/**
 * The policy "poll": what the server asks is kept until the client asks for the state of the task, and
 * answers with a later request (SEP-2663).
 */
export class PollTask extends Task {
  readonly #ttlMs: number;
  readonly #open = new KeyedServerRequests();
  readonly #watchers = new Set<() => void>();
  #poll: OwnRequest | undefined;
  #asked: PromiseWithResolvers<void> | undefined;
  #abandoned: Timer | undefined;

  /**
   * @param capabilities of the client, as its call declares them
   * @param ttlMs how long it may leave server requests open
   */
  constructor(
    claims: TaskClaims,
    owner: Downstream,
    capabilities: ClientCapabilities,
    table: TaskTable,
    ttlMs: number,
  ) {
    super(claims, owner, table);
    this.capabilities = capabilities;
    this.#ttlMs = ttlMs;
  }

  override get heldBytes(): number {
    return super.heldBytes + costOf(this.capabilities) + this.#open.bytes;
  }

  /** What is asked and not answered, by key. A key never stands for two server requests. */
  get serverRequests(): ReadonlyMap<string, ServerRequest> {
    return this.#open.all;
  }

  /** @param capabilities those that the latest request about the task declares */
  usedBy(capabilities: ClientCapabilities): void {
    this.capabilities = capabilities;
    this.#watchClient();
  }

  /** Takes a client's answers; those to nothing that is asked are ignored. */
  answer(responses: Buffer): void {
    this.#open.answer(responses);
    this.#watchClient();
  }

  /** Is told whenever the task may be in another state. @returns ends that */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  override ask(serverRequest: ServerRequest): void {
    if (!this.#open.add(serverRequest)) {
      serverRequest.settle(replyForNobody(serverRequest));
      return;
    }
    this.#watchClient();
    this.#wake();
    this.#changed();
  }

  override withdraw(serverRequest: ServerRequest): void {
    this.#open.withdraw(serverRequest);
    this.resized();
  }

  override tell(notification: Frame): void {
    // Progress and logs are not supported on tasks of the extension.
    if (notification.method === TASK_STATUS) this.#changed();
  }

  /** Answers for a client that does not come back, or wants the task no more. */
  abandon(): void {
    this.#abandoned?.cancel();
    this.#open.answerForNobody();
    this.resized();
  }

  /**
   * Waits until something is asked, if it soon is.
   * @param acquire gives a lease at the server, which is left when nothing is waited for
   */
  async asksSoon(acquire: () => Lease | undefined): Promise<void> {
    if (this.#open.size > 0) return;
    this.#asked ??= Promise.withResolvers<void>();
    this.#startPoll(acquire);
    await within(ASK_LIMIT_MS, this.#asked.promise);
  }

  protected override closed(): void {
    this.abandon();
    this.#wake();
    this.#poll?.cancel();
    this.#watchers.clear();
  }

  /** Waits for the result, since a server may ask only on the stream of that. */
  #startPoll(acquire: () => Lease | undefined): void {
    if (this.#poll !== undefined || this.isClosed) return;
    const lease = acquire();
    if (lease === undefined) return;
    const { taskId } = this.claims;
    const sent = (call: Canceller): void => this.follow(call, false);
    this.#poll = new OwnRequest(this, TASKS_RESULT, { taskId }, { isPatient: true, sent });
    void this.#poll.at(lease).then(() => {
      // The result is asked for again by whoever wants it: it may be large, and nobody may come.
      this.#poll = undefined;
      lease.leave();
      this.#wake();
    });
  }

  /** Something is open, or is no more: for how long a client may leave it so begins anew. */
  #watchClient(): void {
    this.#abandoned?.cancel();
    if (this.#open.size > 0) this.#abandoned = after(this.#ttlMs, () => this.abandon());
    this.resized();
  }

  #wake(): void {
    this.#asked?.resolve();
    this.#asked = undefined;
  }

  #changed(): void {
    for (const changed of [...this.#watchers]) changed();
  }
}
