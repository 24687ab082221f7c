// Why a server ended, for callers, metrics and the next start.
import { cutText } from '../base/cut-text.ts';
import type { FirstStarts } from './restarts.ts';

/** The process ended by itself; the gateway did not stop it. */
const ENDED_BY_ITSELF = /^(exit_|SIG|stdin_closed$|stdout_closed$)/;

/** The gateway is stopping, and with it the server. */
export const DRAINING = 'draining';
/** A remote server no longer knows the session. */
export const SESSION_LOST = 'session_lost';
/** A remote server answers, but refuses everything. */
const STOPPED_SERVING = /^stopped_serving: /;
/** A server refuses every handshake in the same way, until something is changed. */
const REFUSED = /^refused: /;

/** Whether a server refused its session, so that it may refuse the next one too. */
export function sessionWasRefused(reason: string): boolean {
  return reason === SESSION_LOST || STOPPED_SERVING.test(reason);
}

/** Whether waiting for the next start is of no use. */
export function isLasting(reason: string): boolean {
  return REFUSED.test(reason);
}

/** Whether the process ended by itself. */
export function isEndedByItself(reason: string): boolean {
  return ENDED_BY_ITSELF.test(reason);
}

const NOT_STARTED = { all: 'not started yet', discreet: 'not started yet' };
/** A reason that is one word, or begins with one. */
const WORD = /^(\w+)(?:: |$)/;

/**
 * The text for callers of a server that ended. Programs, folders, users and output of the process are only
 * for the user who runs the gateway (docs/reliability.md#h05); all others get one word.
 * @param exposesDetails whether callers are that user
 */
export function describeEnd(
  reason: string,
  lastStderrLine: string,
  exposesDetails: boolean,
): string {
  if (!exposesDetails) return WORD.exec(reason)?.[1] ?? 'handshake';
  const why = cutText(reason);
  return lastStderrLine === '' ? why : `${why}; it last said: ${lastStderrLine.slice(0, 400)}`;
}

/** Who learns how a server ended. */
export interface EndAudience {
  readonly common: {
    /** Whether callers run the gateway themselves. */
    readonly exposesDetails: boolean;
  };
  /** Whether a server that refuses the gateway is tried again only for a call. */
  readonly isTriedOnDemand?: boolean;
  /** Also notified; undefined if it does not matter whether the server was ever ready. */
  readonly firstStarts?: FirstStarts | undefined;
}

/** How a server last ended, until it is up again. */
export class LastEnd {
  readonly #common: EndAudience['common'];
  readonly #firstStarts: FirstStarts | undefined;
  #texts: { readonly all: string; readonly discreet: string } | undefined = NOT_STARTED;

  constructor({ common, firstStarts }: EndAudience) {
    this.#common = common;
    this.#firstStarts = firstStarts;
  }

  /** For the user who runs the gateway; undefined if nothing is wrong. */
  get text(): string | undefined {
    return this.#texts?.all;
  }

  /** For callers. */
  get publicReason(): string {
    const { all = '', discreet = '' } = this.#texts ?? {};
    return this.#common.exposesDetails ? all : discreet;
  }

  note(reason: string, lastStderrLine: string): void {
    const all = describeEnd(reason, lastStderrLine, true);
    this.#texts = { all, discreet: describeEnd(reason, lastStderrLine, false) };
    this.#firstStarts?.failed(all);
  }

  /** The server is up. */
  forget(): void {
    this.#texts = undefined;
    this.#firstStarts?.ready();
  }
}

/** A metric label from a fixed list. */
export function reasonLabel(reason: string): string {
  if (
    /^(SIG[A-Z0-9]+|exit_\d+|stdin_closed|stdin_held|stdin_stalled|stdout_closed|output_flood|protocol_violations|session_lost|stream_closed|unreachable)$/.test(
      reason,
    )
  ) {
    return reason;
  }
  return /^(cannot_start|refused|stopped_serving)/.exec(reason)?.[0] ?? 'handshake';
}
