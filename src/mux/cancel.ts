// How a server is told that nobody waits for a call any more, and how it shows that it has read that.
import { monotonicMs } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { PING } from '../mcp/methods.ts';
import type { Call, OwnAnswer } from './call.ts';
import type { Dialect } from './dialect.ts';

/** Pings at a server that does not answer; cancels are cheap for clients. */
const MAX_PINGS = 64;

/** The way to the server. */
export interface CancelContext {
  readonly dialect: Dialect;
  /** The gateway's own requests that the server has not answered. */
  readonly own: number;
  /** @returns false when the message was dropped */
  notify(message: Buffer): boolean;
  ask(method: string, onAnswer: OwnAnswer): void;
}

/**
 * Tells the server.
 * @param notice what the caller sent, if it sent anything
 */
export function sendCancel(call: Call, notice: Frame | undefined, to: CancelContext): void {
  const { dialect } = to;
  // A client may say at length why it cancels, and a server that does not read must hear of it all the same.
  if (!to.notify(dialect.cancelMessage(call.id, notice))) {
    to.notify(dialect.cancelMessage(call.id, undefined));
  }
  // A stateless server asks nothing by itself, and has no ping.
  if (!call.mayAsk || !dialect.hasPing || call.isStateless || to.own >= MAX_PINGS) return;
  // It reads in order: with the answer to this it has read the cancel, and what it asked before
  // that is here.
  to.ask(PING, (answer) => {
    if (answer !== undefined) call.cancelSeenAtMs = monotonicMs();
  });
}
