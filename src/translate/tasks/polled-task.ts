// A modern client's task at a legacy server: what the server asks on the stream of `tasks/result` is
// gathered here, for the client to see with `tasks/get` and to answer with `tasks/update`
// (docs/protocol.md#tasks).
import { after, type Timer, within } from '../../base/clock.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { TASK_STATUS, TASKS_RESULT } from '../../mcp/methods.ts';
import { type Downstream, replyForNobody, type ServerRequest } from '../../ports/downstream.ts';
import type { Lease } from '../../ports/lease.ts';
import { KeyedServerRequests } from '../keyed-server-requests.ts';
import { OwnRequest } from '../own-request.ts';
import { costOf, OwnedTask, type TaskKeeper } from './owned-task.ts';
import type { TaskClaims } from './task-ids.ts';

/** How long a server may take to ask once somebody waits for the result. */
const ASK_LIMIT_MS = 250;

/** A task whose server requests are gathered. */
export class PolledTask extends OwnedTask {
  #capabilities: ClientCapabilities;
  readonly #ttlMs: number;
  readonly #serverRequests = new KeyedServerRequests();
  readonly #watchers = new Set<() => void>();
  #poll: OwnRequest | undefined;
  #asked: PromiseWithResolvers<void> | undefined;
  #abandoned: Timer | undefined;

  /**
   * @param ttlMs how long a client may leave server requests open
   */
  constructor(
    claims: TaskClaims,
    owner: Downstream,
    capabilities: ClientCapabilities,
    keeper: TaskKeeper,
    ttlMs: number,
  ) {
    super(claims, owner, keeper);
    this.#capabilities = capabilities;
    this.#ttlMs = ttlMs;
  }

  /** Those that the latest request about the task declares. */
  override get capabilities(): ClientCapabilities {
    return this.#capabilities;
  }

  /** What is asked and not answered, by key. A key never stands for two server requests. */
  get serverRequests(): ReadonlyMap<string, ServerRequest> {
    return this.#serverRequests.all;
  }

  /** The client is there. */
  usedBy(capabilities: ClientCapabilities): void {
    this.#capabilities = capabilities;
    this.#watchClient();
    this.resized();
  }

  override get heldBytes(): number {
    return super.heldBytes + costOf(this.#capabilities) + this.#serverRequests.bytes;
  }

  /**
   * Waits until something is asked, if it soon is.
   * @param acquire gives a lease at the server, which is left when nothing is waited for
   */
  async asksSoon(acquire: () => Lease | undefined): Promise<void> {
    if (this.#serverRequests.size > 0) return;
    this.#asked ??= Promise.withResolvers<void>();
    this.#startPoll(acquire);
    await within(ASK_LIMIT_MS, this.#asked.promise);
  }

  /** Takes a client's answers; those to nothing that is asked are ignored. */
  answer(responses: Buffer): void {
    this.#serverRequests.answer(responses);
    this.#watchClient();
    this.resized();
  }

  /** Is told whenever the task may be in another state. @returns ends that */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  override ask(serverRequest: ServerRequest): void {
    if (!this.#serverRequests.add(serverRequest)) {
      serverRequest.settle(replyForNobody(serverRequest));
      return;
    }
    this.#watchClient();
    this.resized();
    this.#wake();
    this.#changed();
  }

  override withdraw(serverRequest: ServerRequest): void {
    this.#serverRequests.withdraw(serverRequest);
    this.resized();
  }

  override tell(notification: Frame): void {
    // Progress and logs are not supported on tasks of the extension.
    if (notification.method === TASK_STATUS) this.#changed();
  }

  /** Answers for a client that does not come back, or wants the task no more. */
  abandon(): void {
    this.#abandoned?.cancel();
    this.#serverRequests.answerForNobody();
    this.resized();
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
    const poll = new OwnRequest(
      this,
      TASKS_RESULT,
      { taskId: this.claims.taskId },
      { isPatient: true, sent: (call) => this.follow(call, false) },
    );
    this.#poll = poll;
    void poll.at(lease).then(() => {
      // The result is asked for again by whoever wants it: it may be large, and nobody may come.
      this.#poll = undefined;
      lease.leave();
      this.#wake();
    });
  }

  #watchClient(): void {
    this.#abandoned?.cancel();
    if (this.#serverRequests.size > 0) this.#abandoned = after(this.#ttlMs, () => this.abandon());
  }

  #wake(): void {
    this.#asked?.resolve();
    this.#asked = undefined;
  }

  #changed(): void {
    for (const changed of [...this.#watchers]) changed();
  }
}
