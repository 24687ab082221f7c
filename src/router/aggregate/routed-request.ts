// A client's request on its way to one of several servers: under the server's own names, and the
// answer under the client's; to the next server where the first one has not what is asked for.
import { GatewayError } from '../../base/errors.ts';
import { whenThere } from '../../base/steps.ts';
import type { OfferedEntry } from '../../catalog/offered-entry.ts';
import { type ExposeUri, exposeInTurns, mayNameUris } from '../../catalog/resource-texts.ts';
import { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { viewOf } from '../../jsonrpc/text-walk.ts';
import { RESOURCES_READ } from '../../mcp/methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Headers, Outcome, Request } from '../../ports/request.ts';
import type { Member } from './member.ts';

/** A server, and the request in its own words. */
export interface RouteTarget {
  readonly kind: 'to';
  readonly member: Member;
  readonly frame: Frame;
  /** The tool or prompt from its lists that the request is for. */
  readonly entry?: OfferedEntry;
  /** The arguments are others than those whose copies stand in the client's headers. */
  readonly isReworded?: boolean;
  /** How long it may take without an answer or progress, where that is not the server's limit. */
  readonly limitMs?: number | undefined;
}

/** Where a request goes. */
export type RoutingDecision =
  /** Nowhere: the gateway says what comes of it, as the session era writes it. */
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  /** To the server that has it. */
  | RouteTarget
  /** To the servers that may have it, one after the other, the likeliest first. */
  | { readonly kind: 'inOrder'; readonly targets: readonly RouteTarget[] };

/** Another server may have what this one has not; `deliver` gives the client this one's error after all. */
export type Missed = (deliver: () => void) => void;

/** What becomes of an answer on its way back. */
export interface RouteOptions {
  /** What a URI of the server is to the client. */
  readonly expose: ExposeUri;
  /** Told when the server has not what was asked for, or was not reached. */
  readonly onNotFound: Missed | undefined;
}

/** A request as one server gets it. */
export class RoutedRequest extends ForwardedRequest {
  readonly #target: Pick<RouteTarget, 'frame' | 'isReworded' | 'limitMs'>;
  readonly #options: RouteOptions;

  /**
   * @param client as the server sees it
   */
  constructor(
    original: Request,
    target: Pick<RouteTarget, 'frame' | 'isReworded' | 'limitMs'>,
    options: RouteOptions,
    client: Downstream = original.client,
  ) {
    super(original, target.frame, client);
    this.#target = target;
    this.#options = options;
  }

  override get headers(): Headers | undefined {
    return this.#target.isReworded === true ? undefined : this.original.headers;
  }

  override get limitMs(): number | undefined {
    return this.#target.limitMs ?? this.original.limitMs;
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
    this.pass(whenThere(exposed, outcome));
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

/**
 * Asks candidates in their order. Where none has it, the client gets what the first one said.
 * @param ask asks one; `onNotFound` is left out for the only one, whose answer counts as it is
 */
export function tryInOrder<T>(
  targets: readonly T[],
  ask: (target: T, onNotFound: Missed | undefined) => void,
): void {
  const [only] = targets;
  if (targets.length === 1 && only !== undefined) {
    ask(only, undefined);
    return;
  }
  let first: (() => void) | undefined;
  const next = (index: number): void => {
    const target = targets[index];
    if (target === undefined) {
      first?.();
      return;
    }
    ask(target, (deliver) => {
      first ??= deliver;
      next(index + 1);
    });
  };
  next(0);
}
