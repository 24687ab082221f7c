// The session at a remote server, and its loss: which requests the server refused unread, so that they can be
// sent in the next session, and how long to wait for the answers to others.
import { after, type Timer } from '../../base/clock.ts';
import { isAtLeast } from '../../mcp/versions.ts';

/** When a session is known to be lost, how long to wait for other requests that are about to fail too. */
const LOSS_MS = 1_000;

/** The result of a handshake. */
export interface HttpSession {
  /** Undefined for a server without sessions. */
  readonly id: string | undefined;
  readonly version: string;
}

/** The headers that identify the session of a request. */
export function sessionHeaders(session: HttpSession | undefined): Readonly<Record<string, string>> {
  if (session === undefined) return {};
  const { id, version } = session;
  return {
    ...(id === undefined ? {} : { 'mcp-session-id': id }),
    // The header exists since 2025-06-18.
    ...(isAtLeast(version, '2025-06-18') ? { 'mcp-protocol-version': version } : {}),
  };
}

/** The loss of one session. */
export class SessionLoss {
  readonly #isAnyUnheardOf: () => boolean;
  readonly #heardOfAll: () => void;
  readonly #notTaken = new Set<number>();
  #timer: Timer | undefined;

  /**
   * @param isAnyUnheardOf whether a request is in flight that the server has not begun to answer
   * @param heardOfAll called when there is nothing more to wait for
   */
  constructor(isAnyUnheardOf: () => boolean, heardOfAll: () => void) {
    this.#isAnyUnheardOf = isAnyUnheardOf;
    this.#heardOfAll = heardOfAll;
  }

  get isKnown(): boolean {
    return this.#timer !== undefined;
  }

  /** Requests that the server certainly did not take. */
  get notTaken(): ReadonlySet<number> {
    return this.#notTaken;
  }

  /** The session is lost. Later errors may have the same reason. */
  begin(): void {
    this.#timer ??= after(LOSS_MS, this.#heardOfAll);
  }

  /**
   * The server did not take a message.
   * @param id of a request
   */
  noteNotTaken(id: number | undefined): void {
    if (id !== undefined) this.#notTaken.add(id);
  }

  /** The server has begun to answer a request, or will not answer it. */
  look(): void {
    if (this.isKnown && !this.#isAnyUnheardOf()) this.#heardOfAll();
  }

  /** Stops waiting. */
  stop(): void {
    this.#timer?.cancel();
  }
}
