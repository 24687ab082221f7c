// All sessions, by id. A session id is not a credential: it is valid only for the endpoint, the principal and
// the credentials that it was made for (docs/reliability.md#b06, #b10). Sessions are limited in total, for
// each principal, and in age. Most clients disconnect without a DELETE, so at a limit the session that was
// unused for longest ends for a new one. An ended session stays ended, although its id contains what is
// needed to continue it.
import { every, monotonicMs, type Timer, wallClockMs } from '../base/clock.ts';
import { Drain } from '../base/drain.ts';
import type { GatewayError } from '../base/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';
import { EndedSessions } from './ended-sessions.ts';
import type { ServedEndpoint } from './served-endpoint.ts';
import type { Session } from './session.ts';
import { digestOf, type SessionClaims, SessionIds } from './session-ids.ts';
import { SessionRecord } from './session-record.ts';

/** At least this many unused sessions that ended are remembered; more if `max` is higher. */
const MIN_UNUSED = 10_000;
/**
 * After a key is revoked, everything that is open for its principal ends within this time
 * (docs/reliability.md#g08).
 */
const MAX_PERIOD_MS = 5_000;

export interface SessionLimits {
  /** A session ends after so many milliseconds without a request or a reader. */
  readonly idle: number;
  /** After this time it ends as soon as nobody reads and nothing is in flight. */
  readonly maxAge?: number;
  readonly max: number;
  /** For one principal; absent while all clients are one principal. */
  readonly maxPerPrincipal?: number | undefined;
  /** Calls in flight of one session. */
  readonly maxInFlight: number;
}

/**
 * Why no session can be opened: too many in total, too many of the principal, too many bytes held, or the
 * gateway is stopping.
 */
export type NoRoom = 'all' | 'own' | 'held' | 'draining';

/** What whoever wants to open a session is told then. */
export const NO_ROOM: Readonly<Record<NoRoom, () => GatewayError>> = {
  all: FAILURES.tooManySessions,
  own: FAILURES.tooManyOwnSessions,
  held: FAILURES.tooMuchHeld,
  draining: FAILURES.stopping,
};

/** A limit on the number of sessions. */
export type SessionLimit = 'sessions.max' | 'sessions.maxPerPrincipal';

/**
 * Why a session ends: by its client, a revocation or the gateway; because it was unused; or because the
 * process stops, and the next one may continue it.
 */
export type SessionEnd = 'ended' | 'unused' | 'stopping';

/** Called about sessions. */
export interface SessionEvents {
  opened(session: Session): void;
  /** A session of another process, or an unused one, is continued. */
  takenUp(session: Session): void;
  ended(session: Session): void;
  /** An unused session ended to make room for a new one. */
  displaced(limit: SessionLimit): void;
}

/** The sessions of one principal. */
interface SessionEntry {
  /** Open sessions, and those that are being opened. */
  count: number;
  readonly sessions: Set<Session>;
}

/** The open sessions. */
export class SessionStore {
  #options: SessionLimits;
  readonly #events: SessionEvents | undefined;
  readonly #perPrincipal = new Map<string, SessionEntry>();
  readonly #sessions = new Map<string, Session>();
  #sweeper: Timer;
  /** While it is on, no session is opened, and open ones accept no new work. */
  readonly drain: Drain;
  readonly ids: SessionIds;
  readonly record: SessionRecord;
  /** Ended because unused. Kept apart, so that many of them don't displace those that were ended on purpose. */
  readonly #unused: EndedSessions;
  #reserved = 0;

  constructor(
    options: SessionLimits,
    events?: SessionEvents,
    drain = new Drain(),
    ids = new SessionIds([]),
    record = new SessionRecord(options),
  ) {
    this.#options = options;
    this.ids = ids;
    this.record = record;
    this.#unused = new EndedSessions(Math.max(options.max, MIN_UNUSED));
    this.#events = events;
    this.drain = drain;
    this.#sweeper = this.#startSweeper();
  }

  /** From now on there are other limits. What is beyond them stays until it ends. */
  obey(options: SessionLimits): void {
    this.#options = options;
    this.#sweeper.cancel();
    this.#sweeper = this.#startSweeper();
  }

  #startSweeper(): Timer {
    const periodMs = Math.min(Math.max(this.#options.idle / 4, 50), MAX_PERIOD_MS);
    return every(periodMs, () => this.#sweep());
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Calls that one session may have in flight. */
  get maxInFlight(): number {
    return this.#options.maxInFlight;
  }

  /** The number of sessions by transport. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = { 'streamable-http': 0, sse: 0, websocket: 0 };
    for (const { transport } of this.#sessions.values()) {
      counts[transport] = (counts[transport] ?? 0) + 1;
    }
    return counts;
  }

  /** The number of requests in flight in all sessions, and of sessions that are being opened. */
  get pending(): number {
    let pending = this.#reserved;
    for (const session of this.#sessions.values()) pending += session.pending;
    return pending;
  }

  /**
   * Reserves a place for a session that is being opened. If there is none, the session that was unused for
   * longest ends: one of the principal at its own limit, any one at the limit for all.
   * @returns the limit, if all sessions are in use; otherwise `release` must be called when the session is
   *   open, or failed to open
   */
  reserve(principal: Principal): NoRoom | undefined {
    const key = quotaKeyOf(principal);
    if (this.drain.isOn) return 'draining';
    const { max, maxPerPrincipal } = this.#options;
    const own = this.#perPrincipal.get(key);
    if (maxPerPrincipal !== undefined && own !== undefined && own.count >= maxPerPrincipal) {
      if (!this.#displace(own.sessions, 'sessions.maxPerPrincipal')) return 'own';
    }
    if (this.#sessions.size + this.#reserved >= max) {
      if (!this.#displace(this.#sessions.values(), 'sessions.max')) return 'all';
    }
    this.#reserved++;
    this.#owned(key).count++;
    return undefined;
  }

  release(principal: Principal): void {
    this.#reserved--;
    this.#giveUp(quotaKeyOf(principal));
  }

  /** @param isTakenUp whether it was opened in another process */
  add(session: Session, isTakenUp = false): void {
    this.#sessions.set(session.id, session);
    const own = this.#owned(quotaKeyOf(session.principal));
    own.count++;
    own.sessions.add(session);
    if (isTakenUp) this.#events?.takenUp(session);
    else this.#events?.opened(session);
  }

  /**
   * The session with an id, if it belongs to the endpoint and the principal, and can continue with its
   * credentials.
   */
  find(id: string, endpoint: string, principal: Principal): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.endpoint !== endpoint || !session.continueAs(principal)) return undefined;
    return session;
  }

  /** Whether a session is open, for any principal. */
  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /**
   * The claims of an id whose session is not open here, but can be continued.
   * @returns undefined if it is open, ended, too old, or if the id has no claims
   */
  claimsOf(id: string): SessionClaims | undefined {
    if (this.has(id)) return undefined;
    const claims = this.ids.open(id);
    if (claims === undefined || this.record.expiryOf(claims.openedAtMs) <= wallClockMs())
      return undefined;
    const isOver = this.record.hasEnded(id) || this.#unused.has(digestOf(id));
    return isOver ? undefined : claims;
  }

  /** Ends a session. */
  end(session: Session, why: SessionEnd = 'ended'): void {
    if (this.#sessions.delete(session.id)) {
      if (why !== 'stopping') this.#noteEnd(session, why);
      this.#giveUp(quotaKeyOf(session.principal), session);
      this.#events?.ended(session);
    }
    session.close();
  }

  /** Ends a session that is not open here. */
  endUnopened(id: string, { openedAtMs }: SessionClaims): void {
    this.record.ended(id, openedAtMs);
  }

  #noteEnd({ id, openedMs }: Session, why: SessionEnd): void {
    if (!this.ids.isSealed(id)) return;
    const openedAtMs = Math.round(wallClockMs() - (monotonicMs() - openedMs));
    if (why === 'ended') this.record.ended(id, openedAtMs);
    else {
      this.record.forget(id);
      this.#unused.add(digestOf(id), this.record.expiryOf(openedAtMs));
    }
  }

  /** Ends the sessions of principals that are no longer accepted. */
  endOf(isGone: (principal: Principal) => boolean): void {
    for (const session of [...this.#sessions.values()]) {
      if (isGone(session.principal)) this.end(session);
    }
  }

  all(): IterableIterator<Session> {
    return this.#sessions.values();
  }

  /** The sessions of an endpoint. */
  at(served: ServedEndpoint): Session[] {
    return [...this.#sessions.values()].filter((session) => session.served === served);
  }

  /** Ends all sessions. */
  close(): void {
    this.#sweeper.cancel();
    for (const session of [...this.#sessions.values()]) this.end(session, 'stopping');
  }

  #owned(key: string): SessionEntry {
    let own = this.#perPrincipal.get(key);
    if (own === undefined) {
      own = { count: 0, sessions: new Set() };
      this.#perPrincipal.set(key, own);
    }
    return own;
  }

  #giveUp(key: string, session?: Session): void {
    const own = this.#owned(key);
    if (session !== undefined) own.sessions.delete(session);
    if (--own.count === 0) this.#perPrincipal.delete(key);
  }

  /** Ends the session that was unused for longest. @returns false if all are in use */
  #displace(among: Iterable<Session>, limit: SessionLimit): boolean {
    let oldest: Session | undefined;
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const session of among) {
      const sinceMs = session.unusedSinceMs;
      if (sinceMs === undefined || sinceMs >= oldestMs) continue;
      oldest = session;
      oldestMs = sinceMs;
    }
    if (oldest === undefined) return false;
    this.#events?.displaced(limit);
    this.end(oldest, 'unused');
    return true;
  }

  #sweep(): void {
    const nowMs = monotonicMs();
    const { idle, maxAge = Number.POSITIVE_INFINITY } = this.#options;
    for (const session of [...this.#sessions.values()]) {
      const isOld = session.openedMs < nowMs - maxAge && session.isIdleSince(nowMs);
      if (isOld || session.isIdleSince(nowMs - idle)) this.end(session, 'unused');
      else session.notificationWriter.prune();
    }
  }
}
