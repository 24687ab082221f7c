// How much a modern server may ask in one result.
import { expect, test, vi } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import type { Request } from '../../../src/ports/request.ts';
import { LegacyToModern } from '../../../src/translate/legacy-to-modern.ts';
import {
  type ModernPasses,
  ModernToModern,
  type PassPlace,
} from '../../../src/translate/modern-to-modern.ts';
import { settleBy } from '../../support/outcomes.ts';

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
  const told = { answer: vi.fn(), fail: vi.fn() };
  const request = { frame, client, ...told, settle: settleBy(told) };
  return { client, request };
}

const TOO_MANY = expect.objectContaining({ reason: 'server_protocol_error', server: 's' });

test('a legacy client is asked 100 server requests, and none of 101', () => {
  for (const count of [100, 101]) {
    const { client, request } = setUp();
    const lease = { server: 's', dispatch: vi.fn() };
    const call = new LegacyToModern(request as unknown as Request, lease as unknown as Lease);
    call.settle(asking(count));
    call.cancel(undefined);
    expect(client.ask).toHaveBeenCalledTimes(count > 100 ? 0 : 100);
    if (count > 100) expect(request.fail).toHaveBeenCalledExactlyOnceWith(TOO_MANY);
    else expect(request.fail).not.toHaveBeenCalled();
  }
});

test('a modern client is given 100 server requests, and an error for 101', () => {
  for (const count of [100, 101]) {
    const { request } = setUp();
    const place = { lease: { server: 's', leave: vi.fn() } } as unknown as PassPlace;
    const pass = new ModernToModern(request as unknown as Request, place, {} as ModernPasses);
    pass.settle(asking(count));
    expect(request.answer).toHaveBeenCalledTimes(count > 100 ? 0 : 1);
    if (count > 100) expect(request.fail).toHaveBeenCalledExactlyOnceWith(TOO_MANY);
    else expect(request.fail).not.toHaveBeenCalled();
  }
});
