/**
 * Tasks at servers with several instances, and tasks at a client: a task is found where it runs, and
 * a server is told of tasks at a client only where it serves nobody else
 * (docs/protocol.md#attribution, #tasks).
 */
import { describe, expect, it } from 'vitest';
import type { LegacySession } from '../support/legacy-session.ts';
import { ModernClient } from '../support/modern-client.ts';
import { fixtureServer, scriptedServer } from '../support/scripted-server.ts';
import { useScripted } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';

const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const CLIENT_TASKS = {
  sampling: {},
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} } } },
};

/** Makes a task. @returns its id */
async function create(session: LegacySession): Promise<unknown> {
  const { result } = await session.request('tools/call', { name: 'hold', task: {} });
  const { taskId } = (result?.['task'] ?? {}) as Json;
  return taskId;
}

describe('a server with several instances', () => {
  const { harness } = useScripted(fixtureServer('scripted-tasks.ts', { config: { replicas: 3 } }));

  it('is asked for a task where it runs', async () => {
    const clients = [1, 2, 3].map(() => harness.track(new ModernClient(harness.url(), EXTENSION)));
    const made = await Promise.all(clients.map((client, n) => client.call('quick', { v: `${n}` })));
    for (const [n, { result }] of made.entries()) {
      const taskId = result?.['taskId'];
      const reads = clients.map((client) => client.request('tasks/get', { taskId }));
      for (const { result: task } of await Promise.all(reads)) {
        expect(task).toMatchObject({ taskId, result: { content: [{ text: `${n}` }] } });
      }
    }
  });

  it('is asked by a session that is elsewhere', async () => {
    const sessions = await Promise.all([1, 2, 3].map(() => harness.session()));
    const [first] = sessions;
    const taskId = first && (await create(first));
    for (const session of sessions) {
      expect((await session.request('tasks/get', { taskId })).result).toMatchObject({ taskId });
    }
  });
});

describe('a server with an instance for each session', () => {
  const { harness } = useScripted(
    fixtureServer('scripted-tasks.ts', { config: { sharing: 'session' } }),
  );

  it('knows a task in the instance of the session that made it, as long as that is there', async () => {
    const session = await harness.session();
    const other = await harness.session();
    const taskId = await create(session);
    expect((await other.request('tasks/get', { taskId })).result).toMatchObject({ taskId });
    expect((await other.request('tasks/list')).result).toEqual({ tasks: [] });
    await session.close();
    expect((await other.request('tasks/get', { taskId })).error?.code).toBe(-32602);
  });

  it('knows a task of a modern client whatever its next request declares', async () => {
    const client = harness.track(new ModernClient(harness.url(), EXTENSION));
    const { result } = await client.call('hold');
    const taskId = result?.['taskId'];
    const capabilities = { ...EXTENSION, sampling: {} };
    const read = await client.request('tasks/get', { taskId }, { capabilities });
    expect(read.result).toMatchObject({ taskId, status: 'working' });
  });
});

describe('tasks at a client', () => {
  const own = useScripted(scriptedServer({ config: { sharing: 'session' } }));

  it('are for a server that serves this session alone', async () => {
    const session = await own.harness.session({ capabilities: CLIENT_TASKS });
    const { params } = await own.journal.waitFor(({ method }) => method === 'initialize');
    expect(params?.['capabilities']).toMatchObject({ tasks: CLIENT_TASKS.tasks });
    const call = session.beginCall('request', {
      method: 'tasks/get',
      params: { taskId: 'at-client' },
    });
    const serverRequest = await call.exchange.messages.next(hasMethod('tasks/get'));
    expect(serverRequest.params).toEqual({ taskId: 'at-client' });
    await session.respond(serverRequest.id, { taskId: 'at-client', status: 'working' });
    expect(textOf(await call.answer)).toContain('working');
    await session.notify('notifications/tasks/status', { taskId: 'at-client', status: 'failed' });
    await own.journal.waitFor(({ method }) => method === 'notifications/tasks/status');
  });
});

describe('tasks at a client of a shared server', () => {
  const shared = useScripted(scriptedServer());

  it('are nothing that it is told of', async () => {
    const session = await shared.harness.session({ capabilities: CLIENT_TASKS });
    const { params } = await shared.journal.waitFor(({ method }) => method === 'initialize');
    expect(params?.['capabilities']).not.toHaveProperty('tasks');
    const reply = await session.call('request', {
      method: 'tasks/get',
      params: { taskId: 'at-client' },
    });
    expect(textOf(reply)).toContain('-32601');
    await session.notify('notifications/tasks/status', { taskId: 'at-client', status: 'failed' });
    await session.call('echo');
    expect(shared.journal.messages('notifications/tasks/status')).toEqual([]);
  });

  it('nor is anybody told of a task that is not theirs', async () => {
    const session = await shared.harness.session();
    const stream = session.openStream();
    await stream.head;
    await session.call('notify', {
      method: 'notifications/tasks/status',
      params: { taskId: 'of-nobody', status: 'working' },
    });
    await session.call('notify', { method: 'notifications/vendor' });
    const pushed = stream.messages.all.map(({ method }) => method);
    expect(pushed).not.toContain('notifications/tasks/status');
  });
});
