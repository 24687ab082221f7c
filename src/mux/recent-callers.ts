// For whom a server has worked lately: what it says of no call may still be about theirs, a moment
// after the answer or the cancel (docs/protocol.md#attribution). Two keys and times tell all that is
// asked, so that a call costs no entry in a table.
import type { Downstream } from '../ports/downstream.ts';

/** How long after their last call, or their leaving, somebody still counts as being there. */
const RECENT_MS = 10_000;

/** Who was seen last, and when anybody else was. */
class LastSeen {
  #key: string | undefined;
  #atMs = Number.NEGATIVE_INFINITY;
  #otherAtMs = Number.NEGATIVE_INFINITY;

  note(key: string, nowMs: number): void {
    if (key !== this.#key) {
      this.#key = key;
      this.#otherAtMs = this.#atMs;
    }
    this.#atMs = nowMs;
  }

  isOther(key: string, nowMs: number): boolean {
    const lastMs = key === this.#key ? this.#otherAtMs : this.#atMs;
    return nowMs - lastMs < RECENT_MS;
  }
}

/** Whose work at one instance is over, but not long. */
export class RecentCallers {
  readonly #all = new LastSeen();
  readonly #logged = new LastSeen();

  /** A call or task of `client` is over, or it left. */
  note(client: Downstream, nowMs: number): void {
    const { key } = client.principal;
    this.#all.note(key, nowMs);
    if (client.logThreshold !== Number.POSITIVE_INFINITY) this.#logged.note(key, nowMs);
  }

  /**
   * Whether somebody with another key than `key` counts as being there.
   * @param hasLogs whether only those count whose calls asked for log messages
   */
  isOther(key: string, nowMs: number, hasLogs: boolean): boolean {
    return (hasLogs ? this.#logged : this.#all).isOther(key, nowMs);
  }
}
