/** What a backend makes of servers that end: which era they are of, and who is placed where. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { InstanceSeat } from '../../../src/backend/instance-seat.ts';
import { monotonicMs } from '../../../src/base/clock.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';
import { type Life, NO_LIFE, scriptedLives } from './scripted-lives.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const broken: Life = () => 'exit';
const modern: Life = (method) =>
  method === 'server/discover'
    ? '"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}'
    : '"error":{"code":-32601,"message":"no"}';
const legacy: Life = (method) =>
  method === 'initialize'
    ? '"result":{"protocolVersion":"2025-11-25","capabilities":{}}'
    : '"error":{"code":-32601,"message":"no"}';
const CLIENT = {} as Downstream;

it('a modern server that ended at the first question is asked for its era again', async () => {
  const { backend, asked } = scriptedLives([broken, modern]);
  const started = backend.start();
  await vi.advanceTimersByTimeAsync(2_000);
  await started;
  expect(asked.map(([first]) => first)).toEqual([
    'server/discover',
    'initialize',
    'server/discover',
  ]);
  expect(backend.isUp).toBe(true);
  await backend.close('draining');
});

it('a start that fails at once is a failure like any other, and is tried again', async () => {
  const { backend, asked } = scriptedLives([NO_LIFE, modern]);
  const started = backend.start();
  await vi.advanceTimersByTimeAsync(2_000);
  await started;
  expect([asked.length, backend.isUp]).toEqual([2, true]);
  await backend.close('draining');
});

it('no client is placed at a replica that keeps ending while another one is up', async () => {
  const { backend } = scriptedLives([broken, legacy, broken], { replicas: 2, era: 'legacy' });
  const started = backend.start();
  await vi.advanceTimersByTimeAsync(0);
  for (let at = 0; at < 3; at++) {
    const seat = backend.place(CLIENT) as InstanceSeat;
    await seat.join(undefined);
    expect(seat.instance.state).toBe('ready');
  }
  await backend.close('draining');
  await vi.advanceTimersByTimeAsync(40_000);
  await started;
});

describe('the private process of a client that shows no sign of life', () => {
  const absent = (sinceMs: number | undefined): Downstream =>
    ({
      principal: { key: 'a' },
      version: '2025-11-25',
      capabilities: {},
      absentSinceMs: sinceMs,
    }) as unknown as Downstream;
  const leftOf = async (sharing: 'principal' | 'session', clients: Downstream[]) => {
    const { backend } = scriptedLives([legacy], { sharing, era: 'legacy' });
    for (const client of clients) await backend.place(client).ready();
    await vi.advanceTimersByTimeAsync(700_000);
    const left = backend.instances;
    await backend.close('draining');
    return left;
  };

  it('is kept for longer where the client never opened a stream', async () => {
    const unheard = { ...absent(0), hasListened: false };
    expect(await leftOf('session', [unheard])).toBe(1);
    expect(await leftOf('session', [{ ...absent(0), hasListened: true }])).toBe(0);
  });

  it('is stopped after a while, and started for the next call', async () => {
    const { backend, asked } = scriptedLives([legacy], { sharing: 'session', era: 'legacy' });
    const seat = backend.place(absent(monotonicMs()));
    await seat.ready();
    await vi.advanceTimersByTimeAsync(299_000);
    expect(backend.instances).toBe(1);
    await vi.advanceTimersByTimeAsync(80_000);
    expect(backend.instances).toBe(0);
    await seat.running();
    expect([backend.instances, asked.length]).toEqual([1, 2]);
    await backend.close('draining');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('goes on while one of its clients is there', async () => {
    expect(await leftOf('session', [absent(undefined)])).toBe(1);
    expect(await leftOf('principal', [absent(0), absent(undefined)])).toBe(1);
    expect(await leftOf('principal', [absent(0), absent(0)])).toBe(0);
  });
});
