// A remote server that the gateway does not get at, for a reason that lies before it: no token, no
// certificate, an address that may not be called.
import type { RequestFailure } from '../../ports/channel.ts';

/** The gateway did not even ask. */
export class AccessFailure extends Error {
  override readonly name = 'AccessFailure';
  readonly failure: RequestFailure;

  /** @param why to follow the server's name */
  constructor(why: string, cause?: unknown) {
    super(why, { cause });
    this.failure = { reason: 'server_unavailable', outcome: 'not_sent', what: why };
  }
}
