// A task whose client polls for its state.
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

/** How long to wait for a server request once the result is requested. */
const ASK_LIMIT_MS = 250;

/**
 * The policy "poll": server requests are kept until the client asks for the state of the task, and answers
 * with a later request (SEP-2663).
 */
export class PollTask extends Task {
  readonly #ttlMs: number;
  readonly #open = new KeyedServerRequests();
  readonly #watchers = new Set<() => void>();
  #poll: OwnRequest | undefined;
  #asked: PromiseWithResolvers<void> | undefined;
  #abandoned: Timer | undefined;

  /**
   * @param capabilities in the client's call
   * @param ttlMs how long the client may leave server requests unanswered, in milliseconds
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

  /** The open server requests by key. A key is never used twice. */
  get serverRequests(): ReadonlyMap<string, ServerRequest> {
    return this.#open.all;
  }

  /** @param capabilities in the latest request about the task */
  usedBy(capabilities: ClientCapabilities): void {
    this.capabilities = capabilities;
    this.#watchClient();
  }

  /** Takes a client's answers. Answers with unknown keys are ignored. */
  answer(responses: Buffer): void {
    this.#open.answer(responses);
    this.#watchClient();
  }

  /** Calls `changed` whenever the state of the task may have changed. @returns ends that */
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
    // The tasks extension does not support progress and logs of tasks.
    if (notification.method === TASK_STATUS) this.#changed();
  }

  /** Answers server requests for a client that does not return, or no longer wants the task. */
  abandon(): void {
    this.#abandoned?.cancel();
    this.#open.answerForNobody();
    this.resized();
  }

  /**
   * Waits a moment for a server request.
   * @param acquire gives a lease of the server, which is given up when nothing is waited for
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

  /** Requests the result, because a server may send requests only on that stream. */
  #startPoll(acquire: () => Lease | undefined): void {
    if (this.#poll !== undefined || this.isClosed) return;
    const lease = acquire();
    if (lease === undefined) return;
    const { taskId } = this.claims;
    const sent = (call: Canceller): void => this.follow(call, false);
    this.#poll = new OwnRequest(this, TASKS_RESULT, { taskId }, { isPatient: true, sent });
    void this.#poll.at(lease).then(() => {
      // A client that wants the result requests it again: it may be large, and perhaps nobody wants it.
      this.#poll = undefined;
      lease.leave();
      this.#wake();
    });
  }

  /** Server requests were added or answered, so the time that the client may leave them open begins again. */
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
