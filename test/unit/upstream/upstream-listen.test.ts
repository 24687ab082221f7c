/** The one listen stream at a modern server while what is wanted changes and streams break off. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Mux } from '../../../src/mux/mux.ts';
import { UpstreamListen } from '../../../src/upstream/upstream-listen.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

function told(method: string, id: number, params: object = {}): Frame {
  const all = { ...params, _meta: { [SUBSCRIPTION]: id } };
  return scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params: all })));
}

function setUp() {
  const open = new Map<number, () => void>();
  let lastId = 0;
  const mux = {
    openStream: (_method: string, _params: unknown, ended: () => void) => {
      open.set(++lastId, ended);
      return lastId;
    },
    closeStream: (id: number) => void open.delete(id),
  } as unknown as Mux;
  const listen = new UpstreamListen(mux);
  const acknowledge = (id: number): void => {
    const params = { notifications: { toolsListChanged: true } };
    listen.receive(told('notifications/subscriptions/acknowledged', id, params));
  };
  const end = (id: number): void => {
    const ended = open.get(id);
    open.delete(id);
    ended?.();
  };
  return { open, listen, acknowledge, end };
}

describe('a listen stream at a server', () => {
  it('answers all who wished while it was not acknowledged, and is the only one', async () => {
    const { open, listen, acknowledge } = setUp();
    const both = [listen.open({}), listen.open({})];
    acknowledge(2);
    expect(await Promise.all(both)).toEqual([
      { toolsListChanged: true },
      { toolsListChanged: true },
    ]);
    expect([...open.keys()]).toEqual([2]);
  });

  it('carries what comes right behind the acknowledgement', () => {
    const { listen, acknowledge } = setUp();
    void listen.open({});
    acknowledge(1);
    expect(listen.receive(told('notifications/tools/list_changed', 1))).toBeDefined();
  });

  it('is given up when it is not acknowledged in time, and the one before stays', async () => {
    const { open, listen, acknowledge } = setUp();
    void listen.open({});
    acknowledge(1);
    const second = listen.open({});
    vi.advanceTimersByTime(10_000);
    expect(await second).toBeUndefined();
    expect([...open.keys()]).toEqual([1]);
  });

  it('is opened again until a server takes it that ended it', async () => {
    const { open, listen, acknowledge, end } = setUp();
    void listen.open({});
    acknowledge(1);
    end(1);
    await vi.advanceTimersByTimeAsync(2_000);
    end(2);
    await vi.advanceTimersByTimeAsync(4_000);
    expect([...open.keys()]).toEqual([3]);
  });

  it('is not opened again when the connection is over', async () => {
    const { open, listen, acknowledge, end } = setUp();
    void listen.open({});
    acknowledge(1);
    end(1);
    listen.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(open.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
