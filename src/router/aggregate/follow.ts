// Takes a request along its route: refused, answered, or sent to a server through what is said about
// the tool; to the next server where the first one has not what is asked for.
import type { OfferedEntry } from '../../catalog/listing.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { Exchange } from '../../ports/exchange.ts';
import type { Denial } from '../../ports/principal.ts';
import { inTurn } from './in-turn.ts';
import type { Candidate, Route } from './route.ts';
import type { ToolCalls } from './tool-calls.ts';

/** How a request is sent. */
export interface Sending {
  /** The tool or prompt that it is for. */
  readonly entry?: OfferedEntry | undefined;
  /** How long it may take without an answer or progress, where that is not the server's limit. */
  readonly limitMs?: number | undefined;
  /**
   * The server has not what was asked for, or was not reached: perhaps another one has it.
   * @param deliver gives the client this server's error after all
   */
  readonly missed?: ((deliver: () => void) => void) | undefined;
}

/** What clients of one era are given. */
export interface Way<E extends Exchange> {
  refuse(exchange: E, error: WireError, denial?: Denial): void;
  /** @param result as the session era writes it */
  answer(exchange: E, result: Buffer): void;
  send(exchange: E, candidate: Candidate, sending: Sending): void;
}

const AS_IT_IS: Sending = {};

/** Takes a request along its route, unless its client does not want it any more. */
export function follow<E extends Exchange>(
  exchange: E,
  route: Route,
  calls: ToolCalls,
  way: Way<E>,
): void {
  if (exchange.isSettled) return;
  switch (route.kind) {
    case 'refused':
      way.refuse(exchange, route.error, route.denial);
      return;
    case 'failed':
      exchange.fail(route.failure);
      return;
    case 'answered':
      way.answer(exchange, route.result);
      return;
    case 'inTurn':
      inTurn(route.candidates, (one, missed) => way.send(exchange, one, { missed }));
      return;
    case 'to':
      if (route.entry === undefined) way.send(exchange, route.candidate, AS_IT_IS);
      else calls.send(exchange, route.candidate, route.entry, way);
  }
}
