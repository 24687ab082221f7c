// Ends POSTs that have no business any more: those that were not accepted in time, and answers that
// nobody waits for, however slowly they go on. Looked at by one timer, which counts its own looks, so
// that a pause of the whole program ends nothing.
import { every, type Timer } from '../../base/clock.ts';
import type { Outgoing } from './outgoing.ts';

const LOOK_MS = 1_000;
/** How many looks a server may take for a message that has no answer, all in all. */
const MAX_ACCEPT_LOOKS = 30;
/** How many looks an answer may go on that nobody waits for: many servers end their streams late. */
const MAX_STRAY_LOOKS = 5;

/** Watches the POSTs of one connection. */
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
