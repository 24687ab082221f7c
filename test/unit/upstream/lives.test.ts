/** What a backend makes of servers that end: which era they are of, and who is placed where. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { monotonicMs } from '../../../src/base/clock.ts';
import type { GatewayError } from '../../../src/base/errors.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';
import type { Request } from '../../../src/ports/request.ts';
import type { InstanceLease } from '../../../src/upstream/instance-lease.ts';
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

it('a modern server that ended at the first probe is asked for its era again', async () => {
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

it('a private instance of a client without sessions is kept as long as an idle session is', async () => {
  const { backend } = scriptedLives([modern], { sharing: 'principal' });
  const client = { ...clientOf('a'), version: '2026-07-28' };
  for (const keptMs of [599_000, 1_000]) {
    const lease = backend.acquire(client);
    await lease.ready();
    lease.leave();
    await vi.advanceTimersByTimeAsync(keptMs);
    expect(backend.instances).toBe(1);
  }
  await vi.advanceTimersByTimeAsync(600_000);
  expect(backend.instances).toBe(0);
  await backend.close('draining');
});

/** Says nothing to what it does not know. */
const silent: Life = (method) => (method === 'initialize' ? legacy(method) : undefined);
/** Ends at what it does not know. */
const touchy: Life = (method) => (method === 'server/discover' ? 'exit' : legacy(method));

function clientOf(key: string): Downstream {
  return { principal: { key }, version: '2025-11-25', capabilities: {} } as Downstream;
}

describe('that a server is legacy is found out once', () => {
  it.each([
    ['is silent', silent, 1],
    ['ends', touchy, 2],
  ])('for all private instances, where it %s at the probe', async (_, life, starts) => {
    const { backend, asked } = scriptedLives([life], { sharing: 'session' });
    const first = backend.acquire(clientOf('a')).ready();
    await vi.advanceTimersByTimeAsync(4_000);
    await first;
    expect(asked).toHaveLength(starts);
    expect(asked.map(([method]) => method)).toEqual(
      ['server/discover', 'initialize'].slice(0, starts),
    );
    // Without any time for a server request.
    for (const key of ['b', 'c']) await backend.acquire(clientOf(key)).ready();
    expect(asked.slice(starts).map(([method]) => method)).toEqual(['initialize', 'initialize']);
    await backend.close('draining');
  });

  it('for its restarts, until it refuses the handshake: then it is asked again', async () => {
    const dies: Life = (method) => (method === 'tools/list' ? 'exit' : silent(method));
    const { backend, asked } = scriptedLives([dies, dies, modern]);
    const started = backend.start();
    await vi.advanceTimersByTimeAsync(4_000);
    await started;
    const lease = backend.acquire(CLIENT);
    for (let life = 0; life < 2; life++) {
      await lease.running();
      await lease.list('tools/list', undefined);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    await vi.advanceTimersByTimeAsync(4_000);
    expect(asked.map(([method]) => method)).toEqual([
      'server/discover',
      'initialize',
      'initialize',
      'server/discover',
    ]);
    expect(lease.identity?.era).toBe('modern');
    await backend.close('draining');
  });
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
    const lease = backend.acquire(CLIENT) as InstanceLease;
    await lease.join(undefined);
    expect(lease.instance.state).toBe('ready');
  }
  await backend.close('draining');
  await vi.advanceTimersByTimeAsync(40_000);
  await started;
});

describe('a call that can’t be served within its time in the queue', () => {
  const timeouts = {
    start: 30_000,
    request: 60_000,
    requestMax: 120_000,
    queue: 50,
    stop: 1_000,
  };
  /** Ends as soon as it is called a second time. */
  const endsLater = (): Life => {
    let calls = 0;
    return (method) => {
      if (method === 'tools/call') return ++calls > 1 ? 'exit' : undefined;
      return legacy(method);
    };
  };
  function callOf(fail: (error: GatewayError) => void): Request {
    const text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}';
    const client = { principal: { key: 'a' } };
    return { frame: scan(Buffer.from(text)), client, settle: fail } as unknown as Request;
  }

  it('is refused at once while its server is not due to be started', async () => {
    const { backend } = scriptedLives([broken], { era: 'legacy', timeouts });
    const started = backend.start();
    await vi.advanceTimersByTimeAsync(0);
    const lease = backend.acquire(CLIENT) as InstanceLease;
    expect(lease.instance.state).toBe('backoff');
    const fail = vi.fn<(error: GatewayError) => void>();
    lease.dispatch(callOf(fail));
    expect(fail.mock.calls[0]?.[0]).toMatchObject({ reason: 'server_unavailable' });
    await backend.close('draining');
    await started;
  });

  it('is refused at once when its server ends while it waits', async () => {
    const limits = { inFlight: 2, queue: 9, message: 1_000_000 };
    const { backend } = scriptedLives([endsLater()], { era: 'legacy', timeouts, limits });
    await backend.start();
    const lease = backend.acquire(CLIENT) as InstanceLease;
    const ended = vi.fn<(error: GatewayError) => void>();
    const waited = vi.fn<(error: GatewayError) => void>();
    for (const fail of [ended, ended, waited]) lease.dispatch(callOf(fail));
    expect(lease.instance.queue.queued).toBe(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(ended.mock.calls.map(([error]) => error.reason)).toEqual([
      'server_exited',
      'server_exited',
    ]);
    expect(waited.mock.calls[0]?.[0]).toMatchObject({ reason: 'server_unavailable' });
    await backend.close('draining');
  });
});

describe('the private process of a client that shows no sign of life', () => {
  const absent = (sinceMs: number | undefined): Downstream =>
    ({
      principal: { key: 'a' },
      version: '2025-11-25',
      capabilities: {},
      absentSinceMs: sinceMs,
    }) as unknown as Downstream;
  const leftOf = async (
    sharing: 'principal' | 'session',
    clients: Downstream[],
    afterMs = 700_000,
  ) => {
    const { backend } = scriptedLives([legacy], { sharing, era: 'legacy' });
    for (const client of clients) await backend.acquire(client).ready();
    await vi.advanceTimersByTimeAsync(afterMs);
    const left = backend.instances;
    await backend.close('draining');
    return left;
  };

  it('is kept for longer where the client never opened a stream', async () => {
    const unheard = { ...absent(0), hasListened: false };
    expect(await leftOf('session', [unheard], 1_790_000)).toBe(1);
    expect(await leftOf('session', [unheard], 1_900_000)).toBe(0);
    expect(await leftOf('session', [{ ...absent(0), hasListened: true }])).toBe(0);
  });

  it('is stopped after a while, and started for the next call', async () => {
    const { backend, asked } = scriptedLives([legacy], { sharing: 'session', era: 'legacy' });
    const lease = backend.acquire(absent(monotonicMs()));
    await lease.ready();
    await vi.advanceTimersByTimeAsync(299_000);
    expect(backend.instances).toBe(1);
    await vi.advanceTimersByTimeAsync(80_000);
    expect(backend.instances).toBe(0);
    await lease.running();
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
