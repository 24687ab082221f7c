// Why a request to a remote server got no answer that can be read, or was not sent.
import type { RequestFailure } from '../../ports/channel.ts';

/** A failed HTTP request. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  readonly failure: RequestFailure;
  /** Whether nothing answers at the address. */
  readonly isUnreachable: boolean;

  constructor(failure: RequestFailure, cause?: unknown, isUnreachable = false) {
    super(failure.what, { cause });
    this.failure = failure;
    this.isUnreachable = isUnreachable;
  }
}

/**
 * The failure of a request that was not sent: no token, no certificate, an address that is not allowed.
 * @param what follows the server's name
 */
export function notCalled(what: string, cause?: unknown): HttpFailure {
  return new HttpFailure({ reason: 'server_unavailable', outcome: 'not_sent', what }, cause);
}
