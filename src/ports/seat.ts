// A server as a client's session sees it.
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import type { Downstream } from './downstream.ts';
import type { Exchange } from './exchange.ts';

/** What a server said of itself in the handshake. */
export interface ServerIdentity {
  /** The whole result of `initialize`. */
  readonly initializeResult: JsonObject;
  readonly capabilities: JsonObject;
  readonly version: string;
}

/** One client's place at one instance of a server. */
export interface Seat {
  /** Undefined for a server that does not speak MCP. */
  readonly identity: ServerIdentity | undefined;
  /** Takes a request; it is always settled in the end. */
  dispatch(exchange: Exchange): void;
  /** Takes a notification. */
  notify(notification: Frame): void;
  /** `logging/setLevel`. */
  setLevel(exchange: Exchange): void;
  /** `resources/subscribe`. */
  subscribe(exchange: Exchange): void;
  /** `resources/unsubscribe`. */
  unsubscribe(exchange: Exchange): void;
  /** The session is over. */
  leave(): void;
}

/** A configured server. */
export interface Backend {
  readonly name: string;
  readonly protocol: 'mcp' | 'jsonrpc';
  /**
   * Gives a client a place at one of the server's instances, starting one if needed.
   * @throws GatewayError when there is none to be had
   */
  seat(client: Downstream): Promise<Seat>;
}
