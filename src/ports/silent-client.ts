// A client that gets nothing outside its own requests, and can't be sent server requests: a modern client,
// the gateway itself, or a client that disconnected.
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import type { Downstream, ServerRequest } from './downstream.ts';
import type { Principal } from './principal.ts';

/** A client without notifications and server requests. */
export class SilentClient implements Downstream {
  readonly principal: Principal;
  readonly version: string;
  readonly logThreshold: number;
  capabilities: ClientCapabilities;
  info: unknown;
  readonly #refusal: WireError;

  /**
   * @param said what it said about itself
   * @param refusal the error for server requests
   * @param logThreshold the least severity of log messages for its calls; absent: none
   */
  constructor(
    principal: Principal,
    said: Pick<Downstream, 'version' | 'capabilities' | 'info'>,
    refusal: WireError,
    logThreshold = Number.POSITIVE_INFINITY,
  ) {
    this.principal = principal;
    this.version = said.version;
    this.capabilities = said.capabilities;
    this.info = said.info;
    this.logThreshold = logThreshold;
    this.#refusal = refusal;
  }

  notify(_message: Buffer, _kind: string | undefined): void {
    // Not connected outside of its requests.
  }

  ask(serverRequest: ServerRequest): void {
    serverRequest.settle(this.#refusal);
  }

  withdraw(_serverRequest: ServerRequest, _notice: Frame | undefined): void {
    // It never has a server request.
  }

  /** Frees what the client said about itself; only its identity is still needed. */
  letGo(): void {
    this.capabilities = {};
    this.info = undefined;
  }
}
