// An endpoint whose requests are taken only while each can be written into the audit log: with
// `audit.required` nothing happens that nobody could read of later (docs/reliability.md#f56).
import type { GatewayError } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { Endpoint, EndpointInfo, UpstreamSession } from '../ports/dispatcher.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Principal } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';

/** Why nothing can be taken now; undefined while all is well. */
export type RefusalCheck = () => GatewayError | undefined;

/** Stands before another endpoint. */
export class AuditedEndpoint implements Endpoint {
  readonly name: string;
  readonly server: string;
  readonly servers?: readonly string[];
  readonly protocol: 'mcp' | 'jsonrpc';
  readonly #inner: Endpoint;
  readonly #refusal: RefusalCheck;

  constructor(inner: Endpoint, refusal: RefusalCheck) {
    this.name = inner.name;
    this.server = inner.server;
    if (inner.servers !== undefined) this.servers = inner.servers;
    this.protocol = inner.protocol;
    this.#inner = inner;
    this.#refusal = refusal;
  }

  credentialFingerprint(principal: Principal): string {
    return this.#inner.credentialFingerprint(principal);
  }

  async open(client: Downstream): Promise<UpstreamSession> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    return new AuditedUpstreamSession(await this.#inner.open(client), this.#refusal);
  }

  serve(request: Request): void {
    const refusal = this.#refusal();
    if (refusal === undefined) this.#inner.serve(request);
    else request.settle(refusal);
  }
}

class AuditedUpstreamSession implements UpstreamSession {
  readonly #inner: UpstreamSession;
  readonly #refusal: RefusalCheck;

  constructor(inner: UpstreamSession, refusal: RefusalCheck) {
    this.#inner = inner;
    this.#refusal = refusal;
  }

  get endpointInfo(): EndpointInfo {
    return this.#inner.endpointInfo;
  }

  dispatch(request: Request): void {
    const refusal = this.#refusal();
    if (refusal === undefined) this.#inner.dispatch(request);
    else request.settle(refusal);
  }

  notify(notification: Frame): void {
    this.#inner.notify(notification);
  }

  close(): void {
    this.#inner.close();
  }
}
