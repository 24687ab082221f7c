// How much a modern server may ask in one result.
import { expect, test, vi } from 'vitest';
import { LegacyCall } from '../../../src/bridge/legacy-call.ts';
import { ModernPass, type ModernPassContext } from '../../../src/bridge/modern-pass.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Exchange } from '../../../src/ports/exchange.ts';
import type { ModernExchange } from '../../../src/ports/modern.ts';
import type { Seat } from '../../../src/ports/seat.ts';

const message = (members: object) =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...members })));

function asking(count: number) {
  const keys = Array.from({ length: count }, (_, i) => `k${i}`);
  const inputRequests = Object.fromEntries(keys.map((key) => [key, { method: 'roots/list' }]));
  return message({ result: { resultType: 'input_required', inputRequests } });
}

function setUp() {
  const client = { capabilities: { roots: {} }, info: {}, ask: vi.fn(), withdraw: vi.fn() };
  const frame = message({ method: 'tools/call', params: { name: 'x' } });
  const exchange = { frame, client, envelope: {}, answer: vi.fn(), fail: vi.fn() };
  return { client, exchange };
}

const TOO_MANY = expect.objectContaining({ reason: 'server_protocol_error', server: 's' });

test('a legacy client is asked 100 questions, and none of 101', () => {
  for (const count of [100, 101]) {
    const { client, exchange } = setUp();
    const seat = { server: 's', dispatch: vi.fn() };
    const call = new LegacyCall(exchange as unknown as Exchange, seat as unknown as Seat);
    call.respond(asking(count));
    call.cancel(undefined);
    expect(client.ask).toHaveBeenCalledTimes(count > 100 ? 0 : 100);
    if (count > 100) expect(exchange.fail).toHaveBeenCalledExactlyOnceWith(TOO_MANY);
    else expect(exchange.fail).not.toHaveBeenCalled();
  }
});

test('a modern client is given 100 questions, and an error for 101', () => {
  for (const count of [100, 101]) {
    const { exchange } = setUp();
    const context = { server: 's', done: vi.fn() } as unknown as ModernPassContext;
    new ModernPass(exchange as unknown as ModernExchange, context).respond(asking(count));
    expect(exchange.answer).toHaveBeenCalledTimes(count > 100 ? 0 : 1);
    if (count > 100) expect(exchange.fail).toHaveBeenCalledExactlyOnceWith(TOO_MANY);
    else expect(exchange.fail).not.toHaveBeenCalled();
  }
});
