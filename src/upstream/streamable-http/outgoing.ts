// One message on its way to a remote server: a POST of its own, which can be taken back.
import { every, type Timer } from '../../base/clock.ts';
import { type HeldOwner, type Holding, LARGE_HOLDING } from '../../base/held-bytes.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { integerId } from '../../jsonrpc/id.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { INITIALIZE, PING } from '../../mcp/methods.ts';
import { DISCOVER, isCacheable } from '../../mcp/modern-methods.ts';
import type { Principal } from '../../ports/principal.ts';

const LOOK_MS = 1_000;
/** How many looks a server may take for a message that has no answer, all in all. */
const MAX_ACCEPT_LOOKS = 30;
/** How many looks an answer may go on that nobody waits for: many servers end their streams late. */
const MAX_STRAY_LOOKS = 5;

/** A message and its POST. */
export class Outgoing {
  /** It was given up, since too much is held. */
  isCut = false;
  readonly frame: Frame;
  readonly from: Principal | undefined;
  /** Of a request; undefined for everything else. */
  readonly id: number | undefined;
  /** Whether the message speaks for itself, without a session. */
  readonly isModern: boolean;
  /** The call to be let go once this, its cancel, has been sent. */
  cancels: Outgoing | undefined;
  /** The server refused its headers once already. */
  hasNewHeaders = false;
  /** Something that came on its stream was over the limit, maybe its answer. */
  wasTooLarge = false;
  /** Its caller took it back: its answer is of no use any more. */
  isCancelled = false;
  /** How often it was looked at while it had no business to go on. */
  looks = 0;
  /** The server has begun to answer it. */
  isBegun = false;
  /** Its answer may mean that the session is gone: over when that has been found out. */
  doubt: Promise<void> | undefined;
  #isRepeated = false;
  #heldBytes = 0;
  /** The same for a large one. */
  #holding: Holding | undefined;
  readonly #abort = new AbortController();

  /** @param from whose it is; undefined where it is the gateway's own */
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

  /** Whether the server has to answer it before anything else can be said. */
  get isHandshake(): boolean {
    return this.method === INITIALIZE || this.method === DISCOVER;
  }

  /** Whether somebody waits for what only this server can say: it has room before all else. */
  get isCall(): boolean {
    return this.id !== undefined && this.method !== PING;
  }

  /** Whether it may be sent again after it was lost: once, and only what changes nothing. */
  repeat(): boolean {
    if (this.#isRepeated || this.signal.aborted || !isCacheable(this.method)) return false;
    this.#isRepeated = true;
    return true;
  }

  /** Counts as held for its server until `letGo`. */
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

  /** Ends the POST, wherever it is. */
  abort(): void {
    this.#abort.abort();
  }
}

/**
 * Ends the POSTs of one connection that have no business any more: those that were not accepted in time, and answers
 * that nobody waits for, however slowly they go on. Looked at by one timer, which counts its own looks, so that a pause
 * of the whole program ends nothing.
 */
export class PostWatch {
  readonly #posts: ReadonlySet<Outgoing>;
  readonly #isAwaited: (id: number) => boolean;
  #timer: Timer | undefined;

  /** @param isAwaited whether somebody waits for the answer to a request */
  constructor(posts: ReadonlySet<Outgoing>, isAwaited: (id: number) => boolean) {
    this.#posts = posts;
    this.#isAwaited = isAwaited;
  }

  /** There is a POST. */
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
