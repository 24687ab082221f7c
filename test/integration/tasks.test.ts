/**
 * Tasks between a client and a server of 2025-11-25: passed through, with ids that only their owner can
 * use (docs/protocol.md#tasks, GW-134).
 */
import { describe, expect, it } from 'vitest';
import type { LegacySession } from '../support/legacy-session.ts';
import { fixtureServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const CLIENT = { capabilities: { elicitation: {} } };

/** Makes a task of a tool. @returns what the client is told of it */
async function create(session: LegacySession, name: string, extra: Json = {}): Promise<Json> {
  const answer = await session.request('tools/call', { name, arguments: {}, task: {}, ...extra });
  const task = answer.result?.['task'] as Json | undefined;
  if (task === undefined) throw new Error(`no task: ${answer.raw}`);
  return task;
}

const get = (session: LegacySession, taskId: unknown): Promise<WireMessage> =>
  session.request('tasks/get', { taskId });

describe('a task of a legacy client at a legacy server', () => {
  const { harness, journal } = useScripted(fixtureServer('scripted-tasks.ts'));

  it('is offered as far as it can be routed', async () => {
    const { initializeAnswer } = await harness.session(CLIENT);
    expect(initializeAnswer.result?.['capabilities']).toMatchObject({
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    expect(initializeAnswer.raw).not.toContain('vendor');
    const older = await harness.session({ ...CLIENT, version: '2025-06-18' });
    expect(older.initializeAnswer.raw).not.toContain('"tasks"');
    expect((await older.request('tools/list')).raw).not.toContain('execution');
    expect((await older.request('tasks/get', { taskId: 'task-1' })).error?.code).toBe(-32601);
  });

  it('is made, looked at, waited for and listed under a sealed id', async () => {
    const session = await harness.session(CLIENT);
    const task = await create(session, 'hold', { task: { ttl: 90_000 } });
    expect(task).toMatchObject({ status: 'working', ttl: 90_000, 'x-custom': 1 });
    const id = String(task['taskId']);
    expect(id).toMatch(/^t1\.[\w-]{40,}$/);
    const own = textOf(await session.call('last'));
    expect((await get(session, id)).result).toMatchObject({ taskId: id, status: 'working' });
    const waiting = session.request('tasks/result', { taskId: id });
    await journal.waitFor((message) => message.method === 'tasks/result');
    await session.call('finish', { taskId: own });
    const result = await waiting;
    expect(textOf(result)).toBe('held');
    expect(result.result?.['_meta']).toEqual({ [RELATED]: { taskId: id } });
    const { result: list } = await session.request('tasks/list');
    const listed = (list?.['tasks'] ?? []) as Json[];
    const ids = listed.map(({ taskId }) => taskId);
    expect(ids).toContain(id);
    expect(JSON.stringify(list)).not.toContain(own);
    expect(journal.messages('tasks/get').at(-1)?.params?.['taskId']).toBe(own);
  });

  it('GW-134 has an id that is unknown when it is changed, made up or the server its own', async () => {
    const session = await harness.session(CLIENT);
    const id = String((await create(session, 'hold'))['taskId']);
    const own = textOf(await session.call('last'));
    const flipped = `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`;
    const seen = journal.messages().length;
    for (const taskId of [own, flipped, `${id}.x`, `${id}=`, '', 't1.', 'x', 1, null, {}]) {
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
        const { error } = await session.request(method, { taskId });
        expect(error, `${method} ${String(taskId)}`).toMatchObject({ code: -32602 });
      }
    }
    expect((await session.request('tasks/get')).error?.code).toBe(-32602);
    const related = { [RELATED]: { taskId: own } };
    const foreign = await session.request('tools/call', { name: 'plain', _meta: related });
    expect(foreign.error?.code).toBe(-32602);
    expect(journal.messages()).toHaveLength(seen);
  });

  it('is cancelled once; its end is told', async () => {
    const session = await harness.session(CLIENT);
    const stream = session.openStream();
    await stream.head;
    const id = String((await create(session, 'hold'))['taskId']);
    const cancelled = await session.request('tasks/cancel', { taskId: id });
    expect(cancelled.result).toMatchObject({ taskId: id, status: 'cancelled' });
    expect((await session.request('tasks/cancel', { taskId: id })).error?.code).toBe(-32602);
    const status = await stream.messages.next(hasMethod('notifications/tasks/status'));
    expect(status.params).toMatchObject({ taskId: id, status: 'cancelled' });
  });

  it('has progress until it is over, on another stream than that of its call', async () => {
    const session = await harness.session(CLIENT);
    const stream = session.openStream();
    await stream.head;
    const id = String((await create(session, 'hold', { _meta: { progressToken: 'p' } }))['taskId']);
    const isProgress = hasMethod('notifications/progress');
    const first = await stream.messages.next(isProgress);
    expect(first.params).toEqual({
      progressToken: 'p',
      progress: 1,
      _meta: { [RELATED]: { taskId: id } },
    });
    await session.call('finish', { taskId: textOf(await session.call('last')) });
    expect((await stream.messages.next(isProgress)).params).toMatchObject({ progress: 2 });
  });

  it('asks its owner on the stream of tasks/result, under the id that the owner knows', async () => {
    const session = await harness.session(CLIENT);
    const id = String((await create(session, 'ask'))['taskId']);
    await journal.waitFor((message) => message.method === 'tools/call');
    const { exchange, answer } = session.begin('tasks/result', { taskId: id });
    const serverRequest = await exchange.messages.next(hasMethod('elicitation/create'));
    expect(serverRequest.params?.['_meta']).toEqual({ [RELATED]: { taskId: id } });
    const _meta = { [RELATED]: { taskId: id } };
    await session.respond(serverRequest.id, { action: 'accept', content: { answer: 'a' }, _meta });
    const reply = JSON.parse(textOf(await answer)) as Json;
    expect(reply).toMatchObject({ action: 'accept', content: { answer: 'a' } });
    const own = textOf(await session.call('last'));
    expect(reply['_meta']).toEqual({ [RELATED]: { taskId: own } });
  });

  it('asks a client that reads a stream without being waited for', async () => {
    const session = await harness.session(CLIENT);
    const stream = session.openStream();
    await stream.head;
    await create(session, 'ask');
    const serverRequest = await stream.messages.next(hasMethod('elicitation/create'));
    await session.respond(serverRequest.id, { action: 'decline' });
  });

  it('that nobody can be asked for gets an answer all the same', async () => {
    const session = await harness.session(CLIENT);
    const id = String((await create(session, 'ask'))['taskId']);
    await session.close();
    const later = await harness.session(CLIENT);
    expect(textOf(await later.request('tasks/result', { taskId: id }))).toContain('cancel');
  });

  it('of a tool that needs one is refused by the server without', async () => {
    const session = await harness.session(CLIENT);
    expect((await session.call('must')).error?.code).toBe(-32601);
  });

  it('is gone with its server', async () => {
    const session = await harness.session(CLIENT);
    const id = String((await create(session, 'hold'))['taskId']);
    const seen = journal.messages('tasks/result').length;
    const { answer } = session.begin('tasks/result', { taskId: id });
    await until(() => journal.messages('tasks/result').length > seen);
    process.kill(journal.starts.at(-1) ?? 0, 'SIGKILL');
    expect((await answer).error?.data).toMatchObject({ reason: 'server_exited' });
    expect((await get(session, id)).error?.code).toBe(-32602);
  });
});
