// What is behind the endpoint of a session that was taken up: linked at once where that starts nothing, else
// with its first request. Then the client is told that lists may be others, since the servers may be.
import { asGatewayError } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject } from '../jsonrpc/parse.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { tellsChanges } from '../mcp/capabilities.ts';
import { LIST_CHANGED } from '../mcp/methods.ts';
import type { Endpoint, EndpointInfo, UpstreamSession } from '../ports/dispatcher.ts';
import type { Request } from '../ports/request.ts';
import type { Session } from './session.ts';

/** Stands in the place of the link that there will be. */
export class LateUpstreamSession implements UpstreamSession {
  readonly endpointInfo: EndpointInfo = { result: {} };
  readonly #session: Session;
  readonly #endpoint: Endpoint;
  #opening: Promise<UpstreamSession> | undefined;

  constructor(session: Session, endpoint: Endpoint) {
    this.#session = session;
    this.#endpoint = endpoint;
  }

  /** Links the session now; where that fails, its next request tries again. */
  open(): void {
    this.#open().catch(() => undefined);
  }

  dispatch(request: Request): void {
    const work = this.#open().then((upstreamSession) => {
      if (!request.isSettled) upstreamSession.dispatch(request);
    });
    work.catch((error: unknown) => request.settle(asGatewayError(error)));
  }

  /** A server that does not run needs to be told nothing. */
  notify(notification: Frame): void {
    const work = this.#opening?.then((upstreamSession) => upstreamSession.notify(notification));
    work?.catch(() => undefined);
  }

  close(): void {
    // What is being linked is given up when it is there.
  }

  #open(): Promise<UpstreamSession> {
    this.#opening ??= this.#link();
    return this.#opening;
  }

  async #link(): Promise<UpstreamSession> {
    try {
      const upstreamSession = await this.#endpoint.open(this.#session);
      if (this.#session.isClosed) {
        upstreamSession.close();
        return upstreamSession;
      }
      this.#session.upstreamSession = upstreamSession;
      this.#tellChanges(upstreamSession.endpointInfo);
      return upstreamSession;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** Waits for the client's stream, where it has none yet. */
  #tellChanges({ result }: EndpointInfo): void {
    const { capabilities } = result;
    if (!isObject(capabilities)) return;
    for (const method of LIST_CHANGED) {
      const [, kind = ''] = method.split('/');
      if (tellsChanges(capabilities[kind])) this.#session.notify(callMessage(method), method);
    }
  }
}
