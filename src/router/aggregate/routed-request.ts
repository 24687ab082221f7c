// A client's request for one server of a merged endpoint: with the server's own names, and the answer with
// the client's names. If the server does not have what was asked for, the next one is tried.
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

/** A server, and the request with its own names. */
export interface RouteTarget {
  readonly kind: 'to';
  readonly member: Member;
  readonly frame: Frame;
  /** The listed tool or prompt that the request is for. */
  readonly entry?: OfferedEntry;
  /** The arguments differ from their copies in the client's headers. */
  readonly isReworded?: boolean;
  /** How long it may take without an answer or progress, in milliseconds; undefined: the server's limit. */
  readonly limitMs?: number | undefined;
}

/** What to do with a request. */
export type RoutingDecision =
  /** It is settled here; the outcome has the legacy form. */
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  /** It goes to the server that has it. */
  | RouteTarget
  /** It goes to the servers that may have it, one after another, the likeliest first. */
  | { readonly kind: 'inOrder'; readonly targets: readonly RouteTarget[] };

/** Called if another server may have it. `deliver` gives this server's error to the client after all. */
export type Missed = (deliver: () => void) => void;

/** How to change the answer. */
export interface RouteOptions {
  /** The client's URI for a URI of the server. */
  readonly expose: ExposeUri;
  /** Called if the server does not have what was asked for, or was not reached. */
  readonly onNotFound: Missed | undefined;
}

/** A request for one server. */
export class RoutedRequest extends ForwardedRequest {
  readonly #target: Pick<RouteTarget, 'frame' | 'isReworded' | 'limitMs'>;
  readonly #options: RouteOptions;

  /** @param client the client that the server sees */
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

  /** A result with the client's URIs; a promise if it is large. */
  #exposed(result: Buffer): Buffer | Promise<Buffer> {
    return exposeInTurns(this.original.frame.method, result, this.#exposeHere);
  }

  /** The result of a read has the URI that was requested. */
  get #exposeHere(): ExposeUri {
    const { expose } = this.#options;
    if (this.frame.method !== RESOURCES_READ) return expose;
    const asked = uriOf(this.original.frame);
    const sent = uriOf(this.frame);
    return (uri, matchBudget) => (uri === sent ? asked : expose(uri, matchBudget));
  }
}

/**
 * Whether another server may have what was asked for. Not if the request may have been executed: asking
 * another server would take as long again.
 */
function isMiss(outcome: Outcome): boolean {
  if (outcome instanceof Frame) return outcome.resultStart < 0;
  if (outcome instanceof GatewayError) return outcome.outcome === 'not_sent';
  return !Buffer.isBuffer(outcome);
}

/** The URI in a request; empty if there is none. */
export function uriOf({ bytes, uriStart, uriEnd }: Frame): string {
  return parseString(bytes, uriStart, uriEnd) ?? '';
}

/**
 * Tries targets in their order. If none has it, the client gets the error of the first one.
 * @param ask asks one target; without `onNotFound` its answer counts in any case
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
