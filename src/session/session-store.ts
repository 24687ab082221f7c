// All sessions, by id. A session id is a pointer, never a credential: it is found only for the
// endpoint and the principal that it was made for (reliability.md B06, B10).
import { randomBytes } from 'node:crypto';
import { every, monotonicMs, type Timer } from '../base/clock.ts';
import type { Principal } from '../ports/principal.ts';
import type { Session } from './session.ts';

const ID_BYTES = 32;

/** A new session id: 256 random bits in visible ASCII (2025-11-25 basic/transports). */
export function newSessionId(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}

/** Sessions that are open. */
export class SessionStore {
  readonly #options: { readonly idleMs: number; readonly max: number };
  readonly #sessions = new Map<string, Session>();
  readonly #sweeper: Timer;
  #reserved = 0;

  constructor(options: { readonly idleMs: number; readonly max: number }) {
    this.#options = options;
    this.#sweeper = every(Math.min(Math.max(options.idleMs / 4, 50), 30_000), () => this.#sweep());
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Sessions by transport. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = { 'streamable-http': 0, sse: 0, websocket: 0 };
    for (const { transport } of this.#sessions.values()) {
      counts[transport] = (counts[transport] ?? 0) + 1;
    }
    return counts;
  }

  /** Requests in flight over all sessions. */
  get pending(): number {
    let pending = 0;
    for (const session of this.#sessions.values()) pending += session.pending;
    return pending;
  }

  /**
   * Takes a place for a session that is being opened.
   * @returns false when there are too many; otherwise call `release` when it is open or not
   */
  reserve(): boolean {
    if (this.#sessions.size + this.#reserved >= this.#options.max) return false;
    this.#reserved++;
    return true;
  }

  release(): void {
    this.#reserved--;
  }

  add(session: Session): void {
    this.#sessions.set(session.id, session);
  }

  /** The session with this id, if it belongs to this endpoint and principal. */
  find(id: string, endpoint: string, principal: Principal): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.endpoint !== endpoint || session.principal.key !== principal.key) return undefined;
    return session;
  }

  /** Ends a session. */
  end(session: Session): void {
    this.#sessions.delete(session.id);
    session.close();
  }

  all(): IterableIterator<Session> {
    return this.#sessions.values();
  }

  /** Ends all sessions. */
  close(): void {
    this.#sweeper.cancel();
    for (const session of [...this.#sessions.values()]) this.end(session);
  }

  #sweep(): void {
    const sinceMs = monotonicMs() - this.#options.idleMs;
    for (const session of [...this.#sessions.values()]) {
      if (session.isIdleSince(sinceMs)) this.end(session);
      else session.outlet.tidy();
    }
  }
}
