// Why a server ended, as callers, metrics and the next start read it.

/** Reasons that are not ours: the process left, whatever we did. */
const ENDED_BY_ITSELF = /^(exit_|SIG|stdin_closed$|stdout_closed$)/;

/** The gateway stops, and with it the server. */
export const DRAINING = 'draining';

/** Whether the process left by itself. */
export function isEndedByItself(reason: string): boolean {
  return ENDED_BY_ITSELF.test(reason);
}

/** What is said to callers of a server that ended. */
export function describeEnd(reason: string, lastWords: string): string {
  return lastWords === '' ? reason : `${reason}; it last said: ${lastWords.slice(0, 200)}`;
}

/** A metric label with a bounded set of values. */
export function reasonLabel(reason: string): string {
  if (
    /^(SIG[A-Z0-9]+|exit_\d+|stdin_closed|stdin_stalled|stdout_closed|protocol_violations|session_lost|stream_closed|unreachable)$/.test(
      reason,
    )
  ) {
    return reason;
  }
  return reason.startsWith('cannot_start') ? 'cannot_start' : 'handshake';
}
