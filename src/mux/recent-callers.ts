// Principals that used a server in the last 10 s. A log message without a call may still belong to one of
// them, even shortly after the answer or the cancellation (docs/protocol.md#attribution). Two keys and times
// are enough, so a call costs no entry in a table.
import type { Downstream } from '../ports/downstream.ts';

/** How long a client counts as present after its last call, or after it disconnected. */
const RECENT_MS = 10_000;

/** The last principal, and when another one was last seen. */
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

/** The principals whose calls at one instance ended recently. */
export class RecentCallers {
  readonly #all = new LastSeen();
  readonly #logged = new LastSeen();

  /** A call or task of `client` is over, or it disconnected. */
  note(client: Downstream, nowMs: number): void {
    const { key } = client.principal;
    this.#all.note(key, nowMs);
    if (client.logThreshold !== Number.POSITIVE_INFINITY) this.#logged.note(key, nowMs);
  }

  /**
   * Whether a principal other than `key` counts as present.
   * @param hasLogs whether only clients count whose calls asked for log messages
   */
  isOther(key: string, nowMs: number, hasLogs: boolean): boolean {
    return (hasLogs ? this.#logged : this.#all).isOther(key, nowMs);
  }
}
