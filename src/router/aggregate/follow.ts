// Where a request goes, once that is known, and how it is taken there: settled, or sent to a server
// through what is said about the tool; to the next server where the first one has not what is asked for.
import type { OfferedEntry } from '../../catalog/listing.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { Outcome, Request } from '../../ports/request.ts';
import type { Member } from './member.ts';
import type { ToolCalls } from './tool-calls.ts';

/** A server, and the request in its own words. */
export interface Candidate {
  readonly member: Member;
  readonly frame: Frame;
  /** The arguments are others than those whose copies stand in the client's headers. */
  readonly isReworded?: boolean;
}

/** Where a request goes. */
export type Route =
  /** Nowhere: the gateway says what comes of it, as the session era writes it. */
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  /** To the server that has it; `entry` is a tool or prompt from its lists. */
  | { readonly kind: 'to'; readonly candidate: Candidate; readonly entry?: OfferedEntry }
  /** To the servers that may have it, one after the other, the likeliest first. */
  | { readonly kind: 'inTurn'; readonly candidates: readonly Candidate[] };

/** Another server may have what this one has not; `deliver` gives the client this one's error after all. */
export type Missed = (deliver: () => void) => void;

/** How a request is sent. */
export interface Sending {
  /** The tool or prompt that it is for. */
  readonly entry?: OfferedEntry | undefined;
  /** How long it may take without an answer or progress, where that is not the server's limit. */
  readonly limitMs?: number | undefined;
  /** Told when the server has not what was asked for, or was not reached. */
  readonly missed?: Missed | undefined;
}

/** Whatever sends a request to a server. */
export type Send = (request: Request, candidate: Candidate, sending: Sending) => void;

const AS_IT_IS: Sending = {};

/** Takes a request along its route, unless its client does not want it any more. */
export function follow(request: Request, route: Route, calls: ToolCalls, send: Send): void {
  if (request.isSettled) return;
  switch (route.kind) {
    case 'settled':
      request.settle(route.outcome);
      return;
    case 'inTurn':
      inTurn(route.candidates, (one, missed) => send(request, one, { missed }));
      return;
    case 'to':
      if (route.entry === undefined) send(request, route.candidate, AS_IT_IS);
      else calls.send(request, route.candidate, route.entry, send);
  }
}

/**
 * Asks candidates in their order. Where none has it, the client gets what the first one said.
 * @param ask asks one; `missed` is left out for the only one, whose answer counts as it is
 */
export function inTurn<T>(
  candidates: readonly T[],
  ask: (candidate: T, missed: Missed | undefined) => void,
): void {
  const [only] = candidates;
  if (candidates.length === 1 && only !== undefined) {
    ask(only, undefined);
    return;
  }
  let first: (() => void) | undefined;
  const next = (index: number): void => {
    const candidate = candidates[index];
    if (candidate === undefined) {
      first?.();
      return;
    }
    ask(candidate, (deliver) => {
      first ??= deliver;
      next(index + 1);
    });
  };
  next(0);
}
