// Where a request goes, once that is known, and how it is taken there: settled, or sent to a server
// through what is said about the tool; to the next server where the first one has not what is asked for.
import type { OfferedEntry } from '../../catalog/listing.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { Outcome, Request } from '../../ports/request.ts';
import type { Member } from './member.ts';
import type { ToolCalls } from './tool-calls.ts';

/** A server, and the request in its own words. */
export interface RouteTarget {
  readonly member: Member;
  readonly frame: Frame;
  /** The arguments are others than those whose copies stand in the client's headers. */
  readonly isReworded?: boolean;
}

/** Where a request goes. */
export type RoutingDecision =
  /** Nowhere: the gateway says what comes of it, as the session era writes it. */
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  /** To the server that has it; `entry` is a tool or prompt from its lists. */
  | { readonly kind: 'to'; readonly target: RouteTarget; readonly entry?: OfferedEntry }
  /** To the servers that may have it, one after the other, the likeliest first. */
  | { readonly kind: 'inOrder'; readonly targets: readonly RouteTarget[] };

/** Another server may have what this one has not; `deliver` gives the client this one's error after all. */
export type Missed = (deliver: () => void) => void;

/** How a request is sent. */
export interface SendOptions {
  /** The tool or prompt that it is for. */
  readonly entry?: OfferedEntry | undefined;
  /** How long it may take without an answer or progress, where that is not the server's limit. */
  readonly limitMs?: number | undefined;
  /** Told when the server has not what was asked for, or was not reached. */
  readonly onNotFound?: Missed | undefined;
}

/** Whatever sends a request to a server. */
export type Send = (request: Request, target: RouteTarget, sendOptions: SendOptions) => void;

const AS_IT_IS: SendOptions = {};

/** Takes a request along its route, unless its client does not want it any more. */
export function dispatchRoute(
  request: Request,
  decision: RoutingDecision,
  calls: ToolCalls,
  send: Send,
): void {
  if (request.isSettled) return;
  switch (decision.kind) {
    case 'settled':
      request.settle(decision.outcome);
      return;
    case 'inOrder':
      tryInOrder(decision.targets, (one, onNotFound) => send(request, one, { onNotFound }));
      return;
    case 'to':
      if (decision.entry === undefined) send(request, decision.target, AS_IT_IS);
      else calls.send(request, decision.target, decision.entry, send);
  }
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
