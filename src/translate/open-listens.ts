// The listen streams of modern clients. They are ended gracefully when the gateway stops. What all streams of
// a principal ask for is limited, and checked before any work is done.

import { Counts } from '../base/counts.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { FAILURES } from '../mcp/failures.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

/** The most resources and tasks for all streams of a principal. */
const MAX_COUNT = 10_000;
/** The cost of one watched resource or task, in addition to its text. */
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

/** All streams. */
export class OpenListens {
  readonly #held: HeldBytes | undefined;
  readonly #open = new Map<OpenListen, ListenShare>();
  /** The number of resources and tasks of each principal's streams. */
  readonly #counts = new Counts();

  /** @param held counts the bytes of streams; absent if there is only one client */
  constructor(held?: HeldBytes) {
    this.#held = held;
  }

  add(listening: OpenListen): void {
    this.#open.set(listening, NOTHING);
  }

  /**
   * Reserves what a stream asks for. Called once for each, before it subscribes.
   * @param texts URIs and ids of tasks
   * @throws GatewayError if its principal asks for too much
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

  /** Ends all of them gracefully, because the gateway stops. */
  end(): void {
    for (const listening of [...this.#open.keys()]) listening.end();
  }
}
