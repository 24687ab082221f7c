// The `settle` of requests that stand for those of clients and servers: tells what settles them by its kind.
import { vi } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { WireError } from '../../src/jsonrpc/error.ts';
import { Frame } from '../../src/jsonrpc/frame.ts';
import type { Reply } from '../../src/ports/downstream.ts';
import { Denied, type Outcome } from '../../src/ports/request.ts';

export interface Told {
  /** A server's response. */
  respond?: (answer: Frame) => void;
  /** A result of the gateway's own. */
  answer?: (result: Buffer) => void;
  refuse?: (error: WireError) => void;
  fail?: (failure: GatewayError) => void;
}

export function settleBy(told: Told): (outcome: Outcome) => void {
  return (outcome) => {
    if (outcome instanceof Frame) told.respond?.(outcome);
    else if (Buffer.isBuffer(outcome)) told.answer?.(outcome);
    else if (outcome instanceof GatewayError) told.fail?.(outcome);
    else told.refuse?.(outcome instanceof Denied ? outcome.error : outcome);
  };
}

/** A server's request that tells how it is settled. */
export function serverRequestOf(frame: Frame) {
  const told = {
    answer: vi.fn<(reply: Reply) => void>(),
    refuse: vi.fn<(error: WireError) => void>(),
  };
  const settle = settleBy({ respond: told.answer, ...told });
  return { frame, ...told, settle, progress: vi.fn() };
}
