// One message to a remote server: a separate POST, which can be aborted.
import { every, type Timer } from '../../base/clock.ts';
import { type HeldOwner, type Holding, LARGE_HOLDING } from '../../base/held-bytes.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { integerId } from '../../jsonrpc/id.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { INITIALIZE, PING } from '../../mcp/methods.ts';
import { DISCOVER, isCacheable } from '../../mcp/modern-methods.ts';
import type { Principal } from '../../ports/principal.ts';

const LOOK_MS = 1_000;
/** After so many checks a server must have accepted a message without an answer. */
const MAX_ACCEPT_LOOKS = 30;
/** After so many checks an answer that nobody waits for is ended. Many servers end their streams late. */
const MAX_STRAY_LOOKS = 5;

/** A message and its POST. */
export class Outgoing {
  /** It was dropped because too many bytes are held. */
  isCut = false;
  readonly frame: Frame;
  readonly from: Principal | undefined;
  /** Of a request; undefined for everything else. */
  readonly id: number | undefined;
  /** Whether the message is complete without a session. */
  readonly isModern: boolean;
  /** The call that this message cancels; it is aborted when the cancellation was sent. */
  cancels: Outgoing | undefined;
  /** The server has already refused its headers once. */
  hasNewHeaders = false;
  /** Something on its stream was over the limit, perhaps its answer. */
  wasTooLarge = false;
  /** Its caller has cancelled it, so its answer is not needed. */
  isCancelled = false;
  /** How often it was checked while nobody waited for it. */
  looks = 0;
  /** The server has begun to answer it. */
  isBegun = false;
  /** Its answer may mean that the session is lost: resolves when that is known. */
  doubt: Promise<void> | undefined;
  #isRepeated = false;
  #heldBytes = 0;
  /** The same for a large message. */
  #holding: Holding | undefined;
  readonly #abort = new AbortController();

  /** @param from the sender; undefined for the gateway itself */
  constructor(message: Buffer, from?: Principal) {
    const frame = scan(message);
    this.from = from;
    this.frame = frame;
    const isRequest = frame.kind === 'request';
    this.id = isRequest ? integerId(frame.bytes, frame.idStart, frame.idEnd) : undefined;
    this.isModern = frame.claimStart >= 0;
  }

  get method(): string {
    return this.frame.method;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether nothing else can be sent before the server has answered it. */
  get isHandshake(): boolean {
    return this.method === INITIALIZE || this.method === DISCOVER;
  }

  /** Whether a caller waits for an answer that only this server has: it gets a connection first. */
  get isCall(): boolean {
    return this.id !== undefined && this.method !== PING;
  }

  /** Whether it may be sent again after it was lost: once, and only if it changes nothing. */
  repeat(): boolean {
    if (this.#isRepeated || this.signal.aborted || !isCacheable(this.method)) return false;
    this.#isRepeated = true;
    return true;
  }

  /** Counts its bytes as held for its server until `letGo`. */
  hold(owner: HeldOwner): this {
    const { length } = this.frame.bytes;
    if (length > LARGE_HOLDING) {
      this.#holding = owner.hold('to_server', length, () => this.#cut());
    } else {
      owner.add('to_server', length);
      this.#heldBytes = length;
    }
    return this;
  }

  letGo(owner: HeldOwner): void {
    this.#holding?.release();
    if (this.#heldBytes > 0) owner.remove('to_server', this.#heldBytes);
    this.#heldBytes = 0;
  }

  #cut(): void {
    this.isCut = true;
    this.abort();
  }

  /** Ends the POST. */
  abort(): void {
    this.#abort.abort();
  }
}

/**
 * Ends POSTs of one connection that are of no more use: those that were not accepted in time, and answers
 * that nobody waits for. One timer checks them and counts its checks, so that a pause of the whole program
 * ends nothing.
 */
export class PostWatch {
  readonly #posts: ReadonlySet<Outgoing>;
  readonly #isAwaited: (id: number) => boolean;
  #timer: Timer | undefined;

  /** @param isAwaited whether a caller waits for the answer to a request */
  constructor(posts: ReadonlySet<Outgoing>, isAwaited: (id: number) => boolean) {
    this.#posts = posts;
    this.#isAwaited = isAwaited;
  }

  /** Called when there is a POST. */
  begin(): void {
    this.#timer ??= every(LOOK_MS, () => this.#look());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    if (this.#posts.size === 0) this.stop();
    for (const post of this.#posts) {
      const isCall = post.id !== undefined;
      if (post.id !== undefined && !post.isCancelled && this.#isAwaited(post.id)) continue;
      post.looks++;
      if (post.looks >= (isCall ? MAX_STRAY_LOOKS : MAX_ACCEPT_LOOKS)) post.abort();
    }
  }
}
