// Why a request to a remote server got no answer that can be read, or was not even sent.
import type { RequestFailure } from '../../ports/channel.ts';

/** A request over HTTP that failed. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  readonly failure: RequestFailure;
  /** Whether there is nobody at the address. */
  readonly isUnreachable: boolean;

  constructor(failure: RequestFailure, cause?: unknown, isUnreachable = false) {
    super(failure.what, { cause });
    this.failure = failure;
    this.isUnreachable = isUnreachable;
  }
}

/**
 * The failure where the gateway did not even ask: no token, no certificate, an address that may not be called.
 * @param what to follow the server's name
 */
export function notCalled(what: string, cause?: unknown): HttpFailure {
  return new HttpFailure({ reason: 'server_unavailable', outcome: 'not_sent', what }, cause);
}
