// An endpoint whose requests are taken only while each can be written into the audit log: with
// `audit.required` nothing happens that nobody could read of later (docs/reliability.md#f56).
import type { GatewayError } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { Attachment, Endpoint, Welcome } from '../ports/dispatcher.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Principal } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';

/** Why nothing can be taken now; undefined while all is well. */
export type Refusal = () => GatewayError | undefined;

/** Stands before another endpoint. */
export class AuditedEndpoint implements Endpoint {
  readonly name: string;
  readonly server: string;
  readonly servers?: readonly string[];
  readonly protocol: 'mcp' | 'jsonrpc';
  readonly #inner: Endpoint;
  readonly #refusal: Refusal;

  constructor(inner: Endpoint, refusal: Refusal) {
    this.name = inner.name;
    this.server = inner.server;
    if (inner.servers !== undefined) this.servers = inner.servers;
    this.protocol = inner.protocol;
    this.#inner = inner;
    this.#refusal = refusal;
  }

  proofOf(principal: Principal): string {
    return this.#inner.proofOf(principal);
  }

  async attach(client: Downstream): Promise<Attachment> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    return new AuditedAttachment(await this.#inner.attach(client), this.#refusal);
  }

  serve(request: Request): void {
    const refusal = this.#refusal();
    if (refusal === undefined) this.#inner.serve(request);
    else request.settle(refusal);
  }
}

class AuditedAttachment implements Attachment {
  readonly #inner: Attachment;
  readonly #refusal: Refusal;

  constructor(inner: Attachment, refusal: Refusal) {
    this.#inner = inner;
    this.#refusal = refusal;
  }

  get welcome(): Welcome {
    return this.#inner.welcome;
  }

  dispatch(request: Request): void {
    const refusal = this.#refusal();
    if (refusal === undefined) this.#inner.dispatch(request);
    else request.settle(refusal);
  }

  notify(notification: Frame): void {
    this.#inner.notify(notification);
  }

  detach(): void {
    this.#inner.detach();
  }
}
