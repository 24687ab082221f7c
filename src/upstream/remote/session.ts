// The session at a remote server, and its end where the server does not know it any more: which requests it refused
// unread, so that they may be sent in the next one, and how long is waited for the last of them.
import { after, type Timer } from '../../base/clock.ts';
import { isAtLeast } from '../../mcp/versions.ts';

/** How long, once a session is known to be gone, others are waited for that are about to hear so. */
const LOSS_MS = 1_000;

/** What a handshake agreed on. */
export interface HttpSession {
  /** Undefined for a server that has no sessions. */
  readonly id: string | undefined;
  readonly version: string;
}

/** The headers that say which session a request belongs to. */
export function sessionHeaders(session: HttpSession | undefined): Readonly<Record<string, string>> {
  if (session === undefined) return {};
  const { id, version } = session;
  return {
    ...(id === undefined ? {} : { 'mcp-session-id': id }),
    // The header exists since 2025-06-18.
    ...(isAtLeast(version, '2025-06-18') ? { 'mcp-protocol-version': version } : {}),
  };
}

/** One session's loss. */
export class SessionLoss {
  readonly #isAnyUnheardOf: () => boolean;
  readonly #heardOfAll: () => void;
  readonly #notTaken = new Set<number>();
  #timer: Timer | undefined;

  /**
   * @param isAnyUnheardOf whether a request is on its way that the server has said nothing to
   * @param heardOfAll told when there is nothing more to wait for
   */
  constructor(isAnyUnheardOf: () => boolean, heardOfAll: () => void) {
    this.#isAnyUnheardOf = isAnyUnheardOf;
    this.#heardOfAll = heardOfAll;
  }

  get isKnown(): boolean {
    return this.#timer !== undefined;
  }

  /** Requests that the server did not take for sure. */
  get notTaken(): ReadonlySet<number> {
    return this.#notTaken;
  }

  /** The session is gone. What is refused from now on may be refused for that reason. */
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

  /** The server has said something to a request, or will not. */
  look(): void {
    if (this.isKnown && !this.#isAnyUnheardOf()) this.#heardOfAll();
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#timer?.cancel();
  }
}
