// The listen streams of modern clients: ended in order when the gateway stops, and bounded in what all
// streams of a principal ask for, before any work is done on it.

import { Counts } from '../base/counts.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { FAILURES } from '../mcp/failures.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

/** Resources and tasks that all streams of a principal may ask for. */
const MAX_COUNT = 10_000;
/** What it costs besides its text that a stream watches something: places in tables. */
const ENTRY_BYTES = 256;

/** A stream. */
export interface OpenListen {
  readonly principal: Principal;
  /** The name of its endpoint. */
  readonly endpoint: string;
  end(): void;
}

interface ListenShare {
  readonly count: number;
  readonly bytes: number;
}

const NOTHING: ListenShare = { count: 0, bytes: 0 };

/** All of them. */
export class OpenListens {
  readonly #held: HeldBytes | undefined;
  readonly #open = new Map<OpenListen, ListenShare>();
  /** What the streams of a principal ask for. */
  readonly #counts = new Counts();

  /** @param held where what they hold counts; absent where there is one client only */
  constructor(held?: HeldBytes) {
    this.#held = held;
  }

  add(listening: OpenListen): void {
    this.#open.set(listening, NOTHING);
  }

  /**
   * Lets a stream ask for so much. Once for each, before it does.
   * @param texts URIs and ids of tasks
   * @throws GatewayError when its principal asks for too much already
   */
  take(listening: OpenListen, texts: readonly string[]): void {
    const { principal } = listening;
    const count = texts.length;
    const before = this.#counts.of(quotaKeyOf(principal));
    if (before + count > MAX_COUNT) {
      throw FAILURES.listensToTooMany(before, MAX_COUNT);
    }
    const bytes = texts.reduce((sum, text) => sum + text.length + ENTRY_BYTES, 0);
    const owner = this.#held?.client(principal);
    if (owner?.hasRoom(bytes) === false) {
      throw FAILURES.listensToTooMuchHeld();
    }
    owner?.add('subscription', bytes);
    if (count > 0) this.#counts.add(quotaKeyOf(principal), count);
    this.#open.set(listening, { count, bytes });
  }

  delete(listening: OpenListen): void {
    const { count, bytes } = this.#open.get(listening) ?? NOTHING;
    if (!this.#open.delete(listening) || count === 0) return;
    const { principal } = listening;
    this.#counts.remove(quotaKeyOf(principal), count);
    this.#held?.client(principal).remove('subscription', bytes);
  }

  /** Ends those of an endpoint in order: it is another one now, so that clients listen anew. */
  endAt(endpoint: string): void {
    for (const listening of [...this.#open.keys()]) {
      if (listening.endpoint === endpoint) listening.end();
    }
  }

  /** Ends all of them in order: the gateway stops. */
  end(): void {
    for (const listening of [...this.#open.keys()]) listening.end();
  }
}
