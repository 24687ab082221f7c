// Why a server ended, as callers, metrics and the next start read it.
import { cutText } from '../base/cut-text.ts';
import type { FirstStarts } from './restarts.ts';

/** Reasons that are not ours: the process left, whatever we did. */
const ENDED_BY_ITSELF = /^(exit_|SIG|stdin_closed$|stdout_closed$)/;

/** The gateway stops, and with it the server. */
export const DRAINING = 'draining';
/** A remote server knows its session no longer. */
export const SESSION_LOST = 'session_lost';
/** A remote server answers, and refuses everything. */
const STOPPED_SERVING = /^stopped_serving: /;
/** A server refuses each handshake in the same way, until somebody changes something. */
const REFUSED = /^refused: /;

/** Whether a server refused its session, so that it may refuse the next one too. */
export function sessionWasRefused(reason: string): boolean {
  return reason === SESSION_LOST || STOPPED_SERVING.test(reason);
}

/** Whether it is of no use to wait for the next start. */
export function isLasting(reason: string): boolean {
  return REFUSED.test(reason);
}

/** Whether the process left by itself. */
export function isEndedByItself(reason: string): boolean {
  return ENDED_BY_ITSELF.test(reason);
}

const NOT_STARTED = { all: 'not started yet', discreet: 'not started yet' };
/** A reason that is a word, alone or before what it is about. */
const WORD = /^(\w+)(?:: |$)/;

/**
 * What is said to callers of a server that ended. Programs, folders, users and what a process wrote are
 * for whoever runs the gateway (docs/reliability.md#h05): everybody else gets one word.
 *
 * @param exposesDetails whether callers run the gateway themselves
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

/** Who is told how a server ended. */
export interface EndAudience {
  readonly common: {
    /** Whether callers run the gateway themselves. */
    readonly exposesDetails: boolean;
  };
  /** Whether a server that refuses the gateway is tried again only when somebody asks for it. */
  readonly isTriedOnDemand?: boolean;
  /** Told too; undefined where it does not matter whether the server was ever ready. */
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

  /** For whoever runs the gateway; undefined when nothing is wrong. */
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

  /** It is up. */
  forget(): void {
    this.#texts = undefined;
    this.#firstStarts?.ready();
  }
}

/** A metric label with a bounded set of values. */
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
