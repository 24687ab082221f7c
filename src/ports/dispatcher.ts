// What listeners and sessions need from the router.
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import type { Downstream } from './downstream.ts';
import type { Principal } from './principal.ts';
import type { Request } from './request.ts';

/** What an endpoint answers to `initialize`, without the version. */
export interface EndpointInfo {
  readonly result: JsonObject;
}

/** What a session has open toward the servers of its endpoint. */
export interface UpstreamSession {
  readonly endpointInfo: EndpointInfo;
  dispatch(request: Request): void;
  notify(notification: Frame): void;
  close(): void;
}

/** An endpoint: one URL path and the servers behind it. */
export interface Endpoint {
  /** From a fixed set: a metric label. */
  readonly name: string;
  /** The server behind it, or a name for several; a metric label. */
  readonly server: string;
  /** All servers behind it, if there are several. A client needs access to at least one of them. */
  readonly servers?: readonly string[];
  readonly protocol: 'mcp' | 'jsonrpc';
  /** Whether everything behind it is there for all clients, so that one more starts nothing. */
  readonly isShared: boolean;
  /**
   * The fingerprint of the credentials that the servers here see. A session belongs to one fingerprint only.
   */
  credentialFingerprint(principal: Principal): string;
  /**
   * Opens the servers of the endpoint for a new session.
   * @throws GatewayError if they are not available
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
  /** Serves a modern request. It is always settled in the end. */
  serve(request: Request): void;
}
