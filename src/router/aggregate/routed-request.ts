// A client's request on its way to one of several servers: under the server's own names, and the
// answer under the client's.
import { GatewayError } from '../../base/errors.ts';
import { type ExposeUri, exposeInTurns, mayNameUris } from '../../catalog/resource-texts.ts';
import { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { viewOf } from '../../jsonrpc/text-walk.ts';
import { RESOURCES_READ } from '../../mcp/methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Headers, Outcome, Request } from '../../ports/request.ts';
import type { RouteTarget, SendOptions } from './dispatch-route.ts';

/** What becomes of an answer on its way back. */
export interface RouteOptions extends Pick<SendOptions, 'limitMs' | 'onNotFound'> {
  /** What a URI of the server is to the client. */
  readonly expose: ExposeUri;
}

/** A request as one server gets it. */
export class RoutedRequest extends ForwardedRequest {
  readonly #isReworded: boolean;
  readonly #options: RouteOptions;

  /**
   * @param client as the server sees it
   */
  constructor(
    original: Request,
    { frame, isReworded = false }: Pick<RouteTarget, 'frame' | 'isReworded'>,
    options: RouteOptions,
    client: Downstream = original.client,
  ) {
    super(original, frame, client);
    this.#isReworded = isReworded;
    this.#options = options;
  }

  override get headers(): Headers | undefined {
    return this.#isReworded ? undefined : this.original.headers;
  }

  override get limitMs(): number | undefined {
    return this.#options.limitMs ?? this.original.limitMs;
  }

  override settle(outcome: Outcome): void {
    const { onNotFound } = this.#options;
    if (onNotFound !== undefined && !this.isSettled && isMiss(outcome))
      onNotFound(() => this.pass(outcome));
    else if (Buffer.isBuffer(outcome)) this.pass(this.#exposed(outcome));
    else super.settle(outcome);
  }

  protected override answered(answer: Frame): void {
    if (!mayNameUris(this.original.frame.method, answer)) {
      this.pass(answer);
      return;
    }
    const result = viewOf(answer.bytes, answer.resultStart, answer.resultEnd);
    const exposed = this.#exposed(result);
    const outcome = (text: Buffer): Outcome => (text === result ? answer : text);
    this.pass(exposed instanceof Promise ? exposed.then(outcome) : outcome(exposed));
  }

  /** A result with the client's URIs, in a later turn if it is large. */
  #exposed(result: Buffer): Buffer | Promise<Buffer> {
    return exposeInTurns(this.original.frame.method, result, this.#exposeHere);
  }

  /** A read is answered with the URI that was asked for. */
  get #exposeHere(): ExposeUri {
    const { expose } = this.#options;
    if (this.frame.method !== RESOURCES_READ) return expose;
    const asked = uriOf(this.original.frame);
    const sent = uriOf(this.frame);
    return (uri, matchBudget) => (uri === sent ? asked : expose(uri, matchBudget));
  }
}

/**
 * Whether another server may have what this one has not. A failure that may have run the request is
 * none: to ask elsewhere would take as long once more.
 */
function isMiss(outcome: Outcome): boolean {
  if (outcome instanceof Frame) return outcome.resultStart < 0;
  if (outcome instanceof GatewayError) return outcome.outcome === 'not_sent';
  return !Buffer.isBuffer(outcome);
}

/** The URI that a request names; empty when there is none. */
export function uriOf({ bytes, uriStart, uriEnd }: Frame): string {
  return parseString(bytes, uriStart, uriEnd) ?? '';
}
