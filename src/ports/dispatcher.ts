// What listeners and sessions may ask of the router.
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import type { Downstream } from './downstream.ts';
import type { Principal } from './principal.ts';
import type { Request } from './request.ts';

/** What an endpoint says of itself in the answer to `initialize`, without the version. */
export interface EndpointInfo {
  readonly result: JsonObject;
}

/** A session's link to what is behind its endpoint. */
export interface UpstreamSession {
  readonly endpointInfo: EndpointInfo;
  dispatch(request: Request): void;
  notify(notification: Frame): void;
  close(): void;
}

/** One URL path with what it shows. */
export interface Endpoint {
  /** Bounded set; a metric label. */
  readonly name: string;
  /** The server behind it; a metric label. */
  readonly server: string;
  /** All servers behind it, where there are several: whom a principal has to be allowed one of. */
  readonly servers?: readonly string[];
  readonly protocol: 'mcp' | 'jsonrpc';
  /** Whether everything behind it is there for all clients, so that one more starts nothing. */
  readonly isShared: boolean;
  /**
   * What of a principal's credentials the servers here see: a session is for one such text only.
   */
  credentialFingerprint(principal: Principal): string;
  /**
   * Links a new session to the servers of the endpoint.
   * @throws GatewayError when they can't be had
   */
  open(client: Downstream): Promise<UpstreamSession>;
  /**
   * Links a session that was at another endpoint of this name: log level and subscriptions are the same, and
   * so are its instances of servers that are here too. Resolves when it can be used, or when its servers
   * have had their time.
   * @param before what it was linked to, which is still in use
   * @throws GatewayError when there is no instance for it
   */
  takeOver(client: Downstream, before: UpstreamSession): Promise<UpstreamSession>;
  /** Serves a modern request; it is always settled in the end. */
  serve(request: Request): void;
}
