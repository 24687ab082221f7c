// The upstream session of a session that was taken up. It is opened at once if that starts no server,
// otherwise with the first request. Then log level and subscriptions are set again, and the client is told
// that lists may have changed, because the servers may have.
import { asGatewayError } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { tellsChanges } from '../mcp/capabilities.ts';
import { LIST_CHANGED, SET_LEVEL, SUBSCRIBE } from '../mcp/methods.ts';
import type { EndpointInfo, UpstreamSession } from '../ports/dispatcher.ts';
import type { Canceller, Request } from '../ports/request.ts';
import type { Session } from './session.ts';
import type { WantedMessages } from './session-record.ts';

/** Repeats a request of an earlier process; nobody waits for the answer. */
class RepeatedRequest implements Request {
  readonly frame: Frame;
  readonly client: Session;
  canceller: Canceller | undefined = undefined;
  isSettled = false;

  constructor(client: Session, method: string, params: JsonObject) {
    this.frame = scan(callMessage(method, params, 0));
    this.client = client;
  }

  settle(): void {
    this.isSettled = true;
  }

  push(): boolean {
    return false;
  }
}

/** Replaces the upstream session until it is open. */
export class LateUpstreamSession implements UpstreamSession {
  readonly endpointInfo: EndpointInfo = { result: {} };
  readonly #session: Session;
  readonly #wanted: WantedMessages | undefined;
  #opening: Promise<UpstreamSession> | undefined;

  /** @param wanted log level and subscriptions that are set again */
  constructor(session: Session, wanted: WantedMessages | undefined) {
    this.#session = session;
    this.#wanted = wanted;
  }

  /** Opens it now; if that fails, the next request tries again. */
  open(): void {
    this.#open().catch(() => undefined);
  }

  dispatch(request: Request): void {
    const work = this.#open().then((upstreamSession) => {
      if (!request.isSettled) upstreamSession.dispatch(request);
    });
    work.catch((error: unknown) => request.settle(asGatewayError(error)));
  }

  /** A server that does not run needs no notifications. */
  notify(notification: Frame): void {
    const work = this.#opening?.then((upstreamSession) => upstreamSession.notify(notification));
    work?.catch(() => undefined);
  }

  close(): void {
    // If it is still being opened, it is closed when it is open.
  }

  #open(): Promise<UpstreamSession> {
    this.#opening ??= this.#link();
    return this.#opening;
  }

  async #link(): Promise<UpstreamSession> {
    try {
      const { endpoint } = this.#session.served;
      const upstreamSession = await endpoint.open(this.#session);
      if (this.#session.isClosed) {
        upstreamSession.close();
        return upstreamSession;
      }
      this.#session.link(upstreamSession, endpoint);
      this.#askAgain(upstreamSession);
      // It may have been replaced while its servers were waited for.
      this.#session.follow().catch(() => undefined);
      this.#tellChanges(upstreamSession.endpointInfo);
      return upstreamSession;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  #askAgain(upstreamSession: UpstreamSession): void {
    if (this.#wanted === undefined) return;
    const { level, uris } = this.#wanted;
    if (level !== undefined) {
      upstreamSession.dispatch(new RepeatedRequest(this.#session, SET_LEVEL, { level }));
    }
    for (const uri of uris) {
      upstreamSession.dispatch(new RepeatedRequest(this.#session, SUBSCRIBE, { uri }));
    }
  }

  /** If the client has no stream yet, this waits for it. */
  #tellChanges({ result }: EndpointInfo): void {
    const { capabilities } = result;
    if (!isObject(capabilities)) return;
    for (const method of LIST_CHANGED) {
      const [, kind = ''] = method.split('/');
      if (tellsChanges(capabilities[kind])) this.#session.notify(callMessage(method), method);
    }
  }
}
