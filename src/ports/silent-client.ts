// A client that nothing reaches outside its requests, and that nobody can ask: a modern one, the
// gateway itself, or somebody who left.
import type { WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import type { Downstream, ServerRequest } from './downstream.ts';
import type { Principal } from './principal.ts';

/** A client that is told nothing and asked nothing. */
export class SilentClient implements Downstream {
  readonly principal: Principal;
  readonly version: string;
  readonly logThreshold: number;
  capabilities: ClientCapabilities;
  info: unknown;
  readonly #refusal: WireError;

  /**
   * @param said what it said of itself
   * @param refusal what is answered to whoever asks it something
   * @param logThreshold least severity of the log messages that its calls carry; absent: none
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
    // What belongs to no request does not reach it.
  }

  ask(serverRequest: ServerRequest): void {
    serverRequest.settle(this.#refusal);
  }

  withdraw(_serverRequest: ServerRequest, _notice: Frame | undefined): void {
    // It was asked nothing.
  }

  /** Only who it is matters any more. */
  letGo(): void {
    this.capabilities = {};
    this.info = undefined;
  }
}
