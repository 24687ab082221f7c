// Calls that wait for their clients, and tasks, count as held for their owners.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Downstream } from '../../../src/ports/downstream.ts';
import { type SuspendableCall, SuspendedCalls } from '../../../src/translate/suspended-calls.ts';
import { PollTask } from '../../../src/translate/tasks/poll-task.ts';
import { TaskTable } from '../../../src/translate/tasks/task.ts';
import { serverRequestOf } from '../../support/outcomes.ts';

const KIB = 1024;
const roomFor = (share: number, all = 10 * share) =>
  new HeldBytes({ limitBytes: all, shareBytes: share });
const principal = (key: string) => ({ key, kind: 'key' }) as const;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

function callOf(key: string, heldBytes: number) {
  return {
    principal: principal(key),
    heldBytes,
    expired: vi.fn(),
    refused: vi.fn(),
  } satisfies SuspendableCall;
}

describe('a suspended call', () => {
  it('counts until it is over, with what came for it meanwhile', () => {
    const held = roomFor(1_000 * KIB);
    const suspendedCalls = new SuspendedCalls<ReturnType<typeof callOf>>(1_000, held);
    const call = callOf('ann', 100 * KIB);
    const id = suspendedCalls.suspend(call, undefined) ?? '';
    expect(held.byKind.suspended).toBe(100 * KIB);
    call.heldBytes = 300 * KIB;
    suspendedCalls.resized(id);
    expect(held.client(principal('ann')).bytes).toBe(300 * KIB);
    expect(suspendedCalls.suspend(call, id)).toBe(id);
    expect(held.total).toBe(300 * KIB);
    suspendedCalls.release(id);
    expect(held.total).toBe(0);
  });

  it('is refused beyond the share of its owner, and that of another is not', () => {
    const suspendedCalls = new SuspendedCalls<ReturnType<typeof callOf>>(1_000, roomFor(250 * KIB));
    expect(suspendedCalls.suspend(callOf('ann', 200 * KIB), undefined)).toBeDefined();
    const second = callOf('ann', 100 * KIB);
    expect(suspendedCalls.suspend(second, undefined)).toBeUndefined();
    expect(second.refused).toHaveBeenCalledWith(
      expect.objectContaining({ reason: 'overloaded', outcome: 'unknown' }),
    );
    expect(suspendedCalls.suspend(callOf('bob', 100 * KIB), undefined)).toBeDefined();
    expect(suspendedCalls.size).toBe(2);
    suspendedCalls.close();
  });

  it('has to go when the whole is exceeded and its owner holds most', () => {
    const held = roomFor(900 * KIB, 1_000 * KIB);
    const suspendedCalls = new SuspendedCalls<ReturnType<typeof callOf>>(1_000, held);
    const call = callOf('ann', 600 * KIB);
    suspendedCalls.suspend(call, undefined);
    held.client(principal('bob')).hold('call', 500 * KIB, () => undefined);
    expect(call.expired).toHaveBeenCalledOnce();
    expect(suspendedCalls.size).toBe(0);
    expect(held.byKind.suspended).toBe(0);
  });
});

describe('a task', () => {
  const taskOf = (table: TaskTable, key: string, taskId: string, info?: unknown): PollTask => {
    const claims = { server: 's', at: '0', taskId, principal: key };
    const owner = { principal: principal(key), version: '2026-07-28', info } as Downstream;
    const task = new PollTask(claims, owner, {}, table, 1_000);
    table.keep(task);
    return task;
  };
  const askedFor = (bytes: number) => {
    const params = { message: 'x'.repeat(bytes) };
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params });
    return serverRequestOf(scan(Buffer.from(text)));
  };

  it('counts with what its client said of itself and what its server asks', () => {
    const held = roomFor(1_000 * KIB);
    const table = new TaskTable([], held);
    const task = taskOf(table, 'ann', 't', { name: 'x'.repeat(50 * KIB) });
    expect(held.byKind.suspended).toBeGreaterThan(50 * KIB);
    const serverRequest = askedFor(200 * KIB);
    task.ask(serverRequest);
    expect(held.byKind.suspended).toBeGreaterThan(250 * KIB);
    task.withdraw(serverRequest);
    expect(held.byKind.suspended).toBeLessThan(60 * KIB);
    task.close();
    expect(held.total).toBe(0);
  });

  it('takes the place of older ones of its owner when there is no room', () => {
    const held = roomFor(250 * KIB);
    const table = new TaskTable([], held);
    const info = { name: 'x'.repeat(100 * KIB) };
    const [first, second] = [taskOf(table, 'ann', '1', info), taskOf(table, 'ann', '2', info)];
    const other = taskOf(table, 'bob', '3', info);
    const third = taskOf(table, 'ann', '4', info);
    expect([first, second, other, third].map(({ isClosed }) => isClosed)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    table.close();
    expect(held.total).toBe(0);
  });

  it('of whoever holds most is forgotten when the whole is exceeded', () => {
    const held = roomFor(900 * KIB, 1_000 * KIB);
    const table = new TaskTable([], held);
    const task = taskOf(table, 'ann', 't');
    const serverRequest = askedFor(600 * KIB);
    task.ask(serverRequest);
    held.client(principal('bob')).hold('call', 500 * KIB, () => undefined);
    expect(task.isClosed).toBe(true);
    expect(serverRequest.answer).toHaveBeenCalledOnce();
    expect(held.byKind.suspended).toBe(0);
  });
});
