// Calls that wait for their clients, and tasks, count as held for their owners.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HeldBytes } from '../../../src/base/held-bytes.ts';
import { type Parkable, Parks } from '../../../src/bridge/parks.ts';
import { HarvestedTask } from '../../../src/bridge/tasks/harvested-task.ts';
import { TaskTable } from '../../../src/bridge/tasks/task-table.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Downstream, Question } from '../../../src/ports/downstream.ts';

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
  } satisfies Parkable;
}

describe('a parked call', () => {
  it('counts until it is over, with what came for it meanwhile', () => {
    const held = roomFor(1_000 * KIB);
    const parks = new Parks<ReturnType<typeof callOf>>(1_000, held);
    const call = callOf('ann', 100 * KIB);
    const id = parks.park(call, undefined) ?? '';
    expect(held.byKind.suspended).toBe(100 * KIB);
    call.heldBytes = 300 * KIB;
    parks.resized(id);
    expect(held.client(principal('ann')).bytes).toBe(300 * KIB);
    expect(parks.park(call, id)).toBe(id);
    expect(held.total).toBe(300 * KIB);
    parks.release(id);
    expect(held.total).toBe(0);
  });

  it('is refused beyond the share of its owner, and that of another is not', () => {
    const parks = new Parks<ReturnType<typeof callOf>>(1_000, roomFor(250 * KIB));
    expect(parks.park(callOf('ann', 200 * KIB), undefined)).toBeDefined();
    const second = callOf('ann', 100 * KIB);
    expect(parks.park(second, undefined)).toBeUndefined();
    expect(second.refused).toHaveBeenCalledWith(
      expect.objectContaining({ reason: 'overloaded', outcome: 'unknown' }),
    );
    expect(parks.park(callOf('bob', 100 * KIB), undefined)).toBeDefined();
    expect(parks.size).toBe(2);
    parks.close();
  });

  it('has to go when the whole is exceeded and its owner holds most', () => {
    const held = roomFor(900 * KIB, 1_000 * KIB);
    const parks = new Parks<ReturnType<typeof callOf>>(1_000, held);
    const call = callOf('ann', 600 * KIB);
    parks.park(call, undefined);
    held.client(principal('bob')).hold('call', 500 * KIB, () => undefined);
    expect(call.expired).toHaveBeenCalledOnce();
    expect(parks.size).toBe(0);
    expect(held.byKind.suspended).toBe(0);
  });
});

describe('a task', () => {
  const taskOf = (table: TaskTable, key: string, taskId: string, info?: unknown): HarvestedTask => {
    const claims = { server: 's', at: '0', taskId, principal: key };
    const owner = { principal: principal(key), version: '2026-07-28', info } as Downstream;
    const task = new HarvestedTask(table.identity(claims), owner, {}, table, 1_000);
    table.keep(task);
    return task;
  };
  const questionOf = (bytes: number): Question => {
    const params = { message: 'x'.repeat(bytes) };
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params });
    return { frame: scan(Buffer.from(text)), answer: vi.fn(), refuse: vi.fn(), progress: vi.fn() };
  };

  it('counts with what its client said of itself and what its server asks', () => {
    const held = roomFor(1_000 * KIB);
    const table = new TaskTable([], held);
    const task = taskOf(table, 'ann', 't', { name: 'x'.repeat(50 * KIB) });
    expect(held.byKind.suspended).toBeGreaterThan(50 * KIB);
    const question = questionOf(200 * KIB);
    task.ask(question);
    expect(held.byKind.suspended).toBeGreaterThan(250 * KIB);
    task.withdraw(question);
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
    const question = questionOf(600 * KIB);
    task.ask(question);
    held.client(principal('bob')).hold('call', 500 * KIB, () => undefined);
    expect(task.isClosed).toBe(true);
    expect(question.answer).toHaveBeenCalledOnce();
    expect(held.byKind.suspended).toBe(0);
  });
});
