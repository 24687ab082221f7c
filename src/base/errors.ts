// Failures of the gateway and their reasons (docs/errors.md). This file knows no transport: the failures with
// their sentences are in mcp/failures, their JSON-RPC errors in mcp/errors, their HTTP status in
// listener/error-response.
import { cutText } from './cut-text.ts';

/** Longer than any sentence written here. A message may contain names and reasons of peers. */
const MAX_MESSAGE_LENGTH = 2_000;

/** Why Sluice, not the server, failed a request. A closed list, and a public contract. */
export const FAILURE_REASONS = [
  'server_starting',
  'server_unavailable',
  'server_exited',
  'server_timeout',
  'server_protocol_error',
  'response_too_large',
  'overloaded',
  'queue_timeout',
  'rate_limited',
  'draining',
  'unattributable',
  'internal',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** `not_sent`: no byte reached the server, so a retry is safe. `unknown`: the server may have run it. */
export type FailureOutcome = 'not_sent' | 'unknown';

/** A request that Sluice failed. The client gets it as -32603 with this as `data`. */
export class GatewayError extends Error {
  readonly reason: FailureReason;
  readonly outcome: FailureOutcome;
  readonly server: string | undefined;
  /** After how many milliseconds it may be tried again, if that is known. */
  readonly retryAfterMs: number | undefined;

  /**
   * @param reason one of the public reasons
   * @param message what happened and what the user can do, one sentence each
   * @param details outcome, the server's configured name, the cause, and what else is known
   */
  constructor(
    reason: FailureReason,
    message: string,
    details: {
      outcome: FailureOutcome;
      server?: string | undefined;
      cause?: unknown;
      retryAfterMs?: number | undefined;
    },
  ) {
    super(
      cutText(message, MAX_MESSAGE_LENGTH),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = 'GatewayError';
    this.reason = reason;
    this.outcome = details.outcome;
    this.server = details.server;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The error text for an unexpected failure. */
export const FAILED_INSIDE = "The request failed inside the gateway; see the gateway's log.";

/**
 * Makes an error for the client of anything that was thrown. The text of an unexpected error may contain
 * paths and addresses, so only the log gets it, as the cause.
 */
export function asGatewayError(
  thrown: unknown,
  server?: string,
  outcome: GatewayError['outcome'] = 'not_sent',
): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal', FAILED_INSIDE, { outcome, server, cause: thrown });
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === 'string' ? thrown : `a thrown ${typeof thrown}`;
}

/** The code of an error of the system or of a library; undefined if it has none. */
export function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** A file of the user that can't be used. The message says which one, why, and what to do. */
export class UserFileError extends Error {
  override readonly name: string = 'UserFileError';
}
