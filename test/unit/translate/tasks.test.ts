/** Whose a task is: ids that only their owner can use, and a table that stays small. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';
import type { Downstream, ServerRequest } from '../../../src/ports/downstream.ts';
import type { Backend, Lease } from '../../../src/ports/lease.ts';
import type { Request } from '../../../src/ports/request.ts';
import { StateSealer } from '../../../src/translate/request-state.ts';
import { awaitTaskIfRequired } from '../../../src/translate/tasks/awaited-call.ts';
import { SessionTasks } from '../../../src/translate/tasks/session-tasks.ts';
import { type TaskClaims, TaskTable } from '../../../src/translate/tasks/task.ts';
import { type SharedTasks, taskTools } from '../../../src/translate/tasks/task-support.ts';
import { WaitTask } from '../../../src/translate/tasks/wait-task.ts';
import { serverRequestOf } from '../../support/outcomes.ts';

const SECRET = 'a text of 32 characters or more, really';
const A = { key: 'a' };
const B = { key: 'b' };
const CLAIMS: TaskClaims = { server: 's', at: '0', taskId: 't', principal: 'a' };

const message = (members: object) =>
  scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...members })));
const clientOf = (principal: { key: string }, more: object = {}): Downstream =>
  ({
    principal,
    version: '2025-11-25',
    capabilities: { elicitation: {} },
    ask: vi.fn(),
    withdraw: vi.fn(),
    notify: vi.fn(),
    ...more,
  }) as unknown as Downstream;
const LEASE = { severity: undefined, isShared: true };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('the id of a task', () => {
  it('is the same each time, and opens for its principal alone', () => {
    const ids = new TaskTable([SECRET]);
    const id = ids.idOf(CLAIMS);
    expect(ids.idOf(CLAIMS)).toBe(id);
    expect(ids.idOf({ ...CLAIMS, taskId: 'u' })).not.toBe(id);
    expect(ids.open(id, A)).toEqual(CLAIMS);
    expect(ids.open(id, B)).toBeUndefined();
  });

  it('opens in no other gateway, unless it has the key', () => {
    const id = new TaskTable([SECRET]).idOf(CLAIMS);
    expect(new TaskTable([]).open(id, A)).toBeUndefined();
    expect(new TaskTable([`another ${SECRET}`, SECRET]).open(id, A)).toEqual(CLAIMS);
  });

  it('is no state, and a state is no id', () => {
    const state = new StateSealer([SECRET]).seal({
      principal: 'a',
      endpoint: '/',
      request: '',
      round: 1,
      expiresAt: 0,
    });
    const ids = new TaskTable([SECRET]);
    expect(ids.open(state, A)).toBeUndefined();
    expect(ids.open(state.replace('v1.', 't1.'), A)).toBeUndefined();
    expect(new StateSealer([SECRET]).open(ids.idOf(CLAIMS).replace('t1.', 'v1.'))).toBeUndefined();
  });

  it('is void when any letter of it is another', () => {
    const ids = new TaskTable([]);
    const id = ids.idOf(CLAIMS);
    for (let at = 0; at < id.length; at++) {
      const other = id[at] === 'A' ? 'B' : 'A';
      expect(ids.open(`${id.slice(0, at)}${other}${id.slice(at + 1)}`, A)).toBeUndefined();
    }
    for (const odd of [undefined, null, 1, {}, '', '.', 't1', 't1.', `${id}.`, ` ${id}`]) {
      expect(ids.open(odd, A)).toBeUndefined();
    }
  });
});

describe('the table of tasks', () => {
  const keep = (table: TaskTable, claims: TaskClaims): WaitTask => {
    const owner = clientOf({ key: claims.principal });
    const task = new WaitTask(claims, owner, LEASE, table);
    table.keep(task);
    return task;
  };

  it('says to its owner, and to nobody else, which server a task is at', () => {
    const table = new TaskTable([]);
    const id = table.idOf(CLAIMS);
    expect(table.open(id, A)?.server).toBe('s');
    expect(table.open(id, B)).toBeUndefined();
    expect(table.open(undefined, A)).toBeUndefined();
  });

  it("does not open one's task with an id that a server gave twice", () => {
    const table = new TaskTable([]);
    const before = table.idOf(CLAIMS);
    keep(table, CLAIMS);
    keep(table, { ...CLAIMS, principal: 'b' });
    expect(table.open(before, A)).toBeUndefined();
    expect(table.size).toBe(1);
    table.close();
  });

  it('opens none that is over, until its owner gets the id anew', () => {
    const table = new TaskTable([]);
    const id = table.idOf(CLAIMS);
    keep(table, CLAIMS).noted({ status: 'completed', ttlMs: 1_000 });
    vi.advanceTimersByTime(999);
    expect(table.open(id, A)).toEqual(CLAIMS);
    vi.advanceTimersByTime(1);
    expect(table.open(id, A)).toBeUndefined();
    keep(table, { ...CLAIMS, principal: 'b' }).close();
    expect(table.open(id, A)).toBeUndefined();
    keep(table, CLAIMS);
    expect(table.open(id, A)).toEqual(CLAIMS);
    table.close();
  });

  it('opens none of a call that the gateway makes one of, for somebody who had its id', async () => {
    const table = new TaskTable([]);
    const before = table.idOf({ ...CLAIMS, principal: 'b' });
    const sent: Request[] = [];
    const lease = {
      server: 's',
      at: '0',
      isShared: true,
      dispatch: (call: Request) => sent.push(call),
    };
    const known = (): Map<string, string> => new Map([['must', 'required']]);
    const frame = message({ method: 'tools/call', params: { name: 'must' } });
    const call = { frame, client: clientOf(A), isSettled: false, settle: vi.fn() };
    const state = { table, tools: { known } } as unknown as SharedTasks;
    await awaitTaskIfRequired(call as unknown as Request, lease as unknown as Lease, state);
    expect(table.open(before, B)).toBeDefined();
    const task = { taskId: 't', status: 'working', ttl: 60_000 };
    sent[0]?.settle(message({ result: { task } }));
    expect(table.open(before, B)).toBeUndefined();
    table.close();
  });

  it('opens one that was lost with its connection, or forgotten for a newer one', () => {
    const table = new TaskTable([]);
    const id = table.idOf(CLAIMS);
    keep(table, CLAIMS).lost();
    expect(table.open(id, A)).toEqual(CLAIMS);
    keep(table, CLAIMS);
    for (let n = 1; n <= 1_000; n++) keep(table, { ...CLAIMS, taskId: String(n) });
    expect(table.open(id, A)).toEqual(CLAIMS);
    table.close();
  });

  it('keeps nothing of a task that is over, lost or old', () => {
    const table = new TaskTable([]);
    keep(table, CLAIMS).noted({ status: 'completed', ttlMs: 1_000 });
    expect(table.size).toBe(1);
    vi.advanceTimersByTime(1_000);
    expect(table.size).toBe(0);
    keep(table, CLAIMS).noted({ status: 'working', ttlMs: null });
    vi.advanceTimersByTime(86_400_000);
    expect(table.size).toBe(0);
    keep(table, CLAIMS).lost();
    expect(table.size).toBe(0);
  });

  it('has room for a thousand tasks of a principal, and forgets the oldest', () => {
    const table = new TaskTable([]);
    const other = keep(table, { ...CLAIMS, taskId: 'other', principal: 'b' });
    const first = keep(table, { ...CLAIMS, taskId: '0' });
    for (let n = 1; n <= 1_000; n++) keep(table, { ...CLAIMS, taskId: String(n) });
    expect([first.isClosed, other.isClosed, table.size]).toEqual([true, false, 1_001]);
    table.close();
    expect(table.size).toBe(0);
  });
});

describe('a server request of a task', () => {
  const serverRequest = () =>
    serverRequestOf(
      message({
        method: 'elicitation/create',
        params: { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' } } },
      }),
    );

  it('waits for tasks/result, then is put all the same', () => {
    const table = new TaskTable([]);
    const client = clientOf(A);
    const task = new WaitTask(CLAIMS, client, LEASE, table);
    task.ask(serverRequest());
    expect(client.ask).not.toHaveBeenCalled();
    const waiting = { client, push: vi.fn() } as unknown as Request;
    task.waits(waiting);
    expect(client.ask).toHaveBeenCalledWith(expect.anything(), waiting);
    task.waitsNoMore(waiting);
    task.ask(serverRequest());
    vi.advanceTimersByTime(10_000);
    expect(client.ask).toHaveBeenLastCalledWith(expect.anything(), undefined);
    task.close();
  });

  it('is taken back, or answered for somebody who left', () => {
    const table = new TaskTable([]);
    const client = clientOf(A);
    const task = new WaitTask(CLAIMS, client, LEASE, table);
    const held = serverRequest() satisfies ServerRequest;
    const left = serverRequest();
    const late = serverRequest();
    task.ask(held);
    task.withdraw(held, undefined);
    task.ask(left);
    task.left(client);
    task.ask(late);
    expect(held.answer).not.toHaveBeenCalled();
    for (const one of [left, late]) expect(one.answer).toHaveBeenCalledOnce();
    task.close();
  });
});

describe('GW-134 a request about a task of another principal', () => {
  it('is refused, and no server sees it', () => {
    const table = new TaskTable([]);
    const id = table.idOf(CLAIMS);
    const identity = {
      era: 'legacy',
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    };
    const lease = { identity, at: '0', isShared: true, dispatch: vi.fn() };
    const backend = { name: 's', acquireById: vi.fn() };
    const state = { table, tools: taskTools({ current: () => [], read: async () => [] }) };
    const refusals = [A, B].map((principal) => {
      const client = clientOf(principal);
      const tasks = new SessionTasks(
        client,
        lease as unknown as Lease,
        backend as unknown as Backend,
        state,
      );
      return ['tasks/get', 'tasks/result', 'tasks/cancel'].map((method) => {
        const frame = message({ method, params: { taskId: id } });
        const settle = vi.fn();
        expect(tasks.take({ frame, client, settle } as unknown as Request)).toBe(true);
        return settle.mock.calls[0]?.[0]?.code;
      });
    });
    const none = [undefined, undefined, undefined];
    expect(refusals).toEqual([none, [-32602, -32602, -32602]]);
    expect(lease.dispatch).toHaveBeenCalledTimes(3);
    expect(backend.acquireById).not.toHaveBeenCalled();
    table.close();
  });
});

describe('a request about a task of another server', () => {
  it('is refused, though the server has an instance of that name', () => {
    const table = new TaskTable([]);
    const id = table.idOf(CLAIMS);
    const identity = {
      era: 'legacy',
      capabilities: { tasks: { requests: { tools: { call: {} } } } },
    };
    const lease = { identity, at: CLAIMS.at, isShared: true, dispatch: vi.fn() };
    const state = { table, tools: taskTools({ current: () => [], read: async () => [] }) };
    const client = clientOf(A);
    const settle = vi.fn();
    const ask = (name: string): void => {
      const backend = { name, acquireById: vi.fn() } as unknown as Backend;
      const tasks = new SessionTasks(client, lease as unknown as Lease, backend, state);
      const frame = message({ method: 'tasks/get', params: { taskId: id } });
      tasks.take({ frame, client, settle } as unknown as Request);
    };
    ask('other');
    expect(settle).toHaveBeenCalledWith(expect.objectContaining({ code: -32602 }));
    expect(lease.dispatch).not.toHaveBeenCalled();
    ask(CLAIMS.server);
    expect(lease.dispatch).toHaveBeenCalledOnce();
    table.close();
  });
});
