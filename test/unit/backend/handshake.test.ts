/** What a server says after the gateway has begun to ask it in the old way too. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { gatewayIntroduction, handshake } from '../../../src/backend/handshake.ts';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Mux } from '../../../src/mux/mux.ts';

const NEVER = new Promise<undefined>(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('a late answer that no version is served ends the handshake and nothing else', async () => {
  const { promise, resolve } = Promise.withResolvers<Frame | undefined>();
  const request = (method: string): Promise<Frame | undefined> =>
    method === 'server/discover' ? promise : NEVER;
  const mux = { request } as unknown as Mux;
  const introduction = gatewayIntroduction({}, '0');
  const outcome = handshake(mux, introduction, { era: 'auto', limitMs: 30_000 });
  const refused = expect(outcome).rejects.toThrow('cannot_start');
  await vi.advanceTimersByTimeAsync(5_000);
  const error = '{"code":-32022,"message":"no","data":{"supported":["2027-01-01"]}}';
  resolve(scan(Buffer.from(`{"jsonrpc":"2.0","id":1,"error":${error}}`)));
  // Without a handler for it, the rejection would fail this run as it would end the gateway.
  await refused;
});
