// A failure of Sluice's own, and its reasons (docs/errors.md). Knows no transport: the failures with their
// sentences are in mcp/failures, their JSON-RPC error in mcp/errors, their HTTP status in
// listener/error-response.
import { cutText } from './cut-text.ts';

/** More than any sentence of ours; names and reasons that others chose are in some. */
const MAX_MESSAGE_LENGTH = 2_000;

/** Why Sluice, not the server, failed a request. A closed list and a public contract. */
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

/** `not_sent`: no byte reached the server, safe to retry. `unknown`: it may have run. */
export type FailureOutcome = 'not_sent' | 'unknown';

/** A request that Sluice could not carry. Goes to the client as -32603 with this as `data`. */
export class GatewayError extends Error {
  readonly reason: FailureReason;
  readonly outcome: FailureOutcome;
  readonly server: string | undefined;
  /** After how long it may be tried again, where that is known. */
  readonly retryAfterMs: number | undefined;

  /**
   * @param reason row of the table
   * @param message what happened and what the user can do, one sentence each
   * @param details outcome, the server's configured name, the error that led here, and what else is known
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

/** What a client is told of a failure that nobody expected. */
export const FAILED_INSIDE = "The request failed inside the gateway; see the gateway's log.";

/**
 * What a client is told of anything that was thrown. The text of what nobody expected may have paths
 * and addresses in it, so it stays behind as the cause, for the log.
 */
export function asGatewayError(
  thrown: unknown,
  server?: string,
  outcome: GatewayError['outcome'] = 'not_sent',
): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal', FAILED_INSIDE, { outcome, server, cause: thrown });
}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === 'string' ? thrown : `a thrown ${typeof thrown}`;
}

/** The code of an error of the system or of a library; undefined where it has none. */
export function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** A file of the user's that can't be used; the message says which, why, and what to do. */
export class UserFileError extends Error {
  override readonly name: string = 'UserFileError';
}
