/** What a server says after the gateway has begun to ask it in the old way too. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Mux } from '../../../src/mux/mux.ts';
import { gatewayIdentity, handshake } from '../../../src/upstream/handshake.ts';

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
  const clientIdentity = gatewayIdentity({}, '0');
  const outcome = handshake(mux, clientIdentity, { era: 'auto', limitMs: 30_000 });
  const refused = expect(outcome).rejects.toThrow('cannot_start');
  await vi.advanceTimersByTimeAsync(5_000);
  const error = '{"code":-32022,"message":"no","data":{"supported":["2027-01-01"]}}';
  resolve(scan(Buffer.from(`{"jsonrpc":"2.0","id":1,"error":${error}}`)));
  // Without a handler for it, the rejection would fail this run as it would end the gateway.
  await refused;
});

it('a modern server that refuses the old handshake before its late answer is modern', async () => {
  const probe = Promise.withResolvers<Frame | undefined>();
  const old = Promise.withResolvers<Frame | undefined>();
  const request = (method: string) => (method === 'server/discover' ? probe : old).promise;
  const mux = { request } as unknown as Mux;
  const clientIdentity = gatewayIdentity({}, '0');
  const outcome = handshake(mux, clientIdentity, { era: 'auto', limitMs: 30_000 });
  const isModern = expect(outcome).resolves.toMatchObject({ era: 'modern' });
  await vi.advanceTimersByTimeAsync(5_000);
  const error = '{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}';
  old.resolve(scan(Buffer.from(`{"jsonrpc":"2.0","id":2,"error":${error}}`)));
  await vi.advanceTimersByTimeAsync(100);
  const result = '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}';
  probe.resolve(scan(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`)));
  await isModern;
});

it('a server that refuses the old handshake and never answers the new one is refused', async () => {
  const old = Promise.withResolvers<Frame | undefined>();
  const request = (method: string) => (method === 'server/discover' ? NEVER : old.promise);
  const mux = { request } as unknown as Mux;
  const clientIdentity = gatewayIdentity({}, '0');
  const outcome = handshake(mux, clientIdentity, { era: 'auto', limitMs: 30_000 });
  const refused = expect(outcome).rejects.toThrow('initialize was refused');
  await vi.advanceTimersByTimeAsync(5_000);
  old.resolve(scan(Buffer.from('{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}')));
  await vi.advanceTimersByTimeAsync(3_000);
  await refused;
});

it('a refusal as long as an answer may be is told in a few words', async () => {
  const long = 'x'.repeat(1_000_000);
  const refusal = `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"${long}","data":{"supported":["${long}"]}}}`;
  const request = (): Promise<Frame> => Promise.resolve(scan(Buffer.from(refusal)));
  const mux = { request } as unknown as Mux;
  for (const era of ['legacy', 'modern'] as const) {
    const outcome = handshake(mux, gatewayIdentity({}, '0'), { era, limitMs: 30_000 });
    const { message } = await outcome.then(
      () => new Error('was accepted'),
      (error: Error) => error,
    );
    expect(message).toContain('xxx');
    expect(message.length).toBeLessThan(1_000);
  }
});
