/**
 * Tasks of clients of the stateless era, and of clients that know none, at servers of 2025-11-25: the
 * tasks extension served from tasks of the session era (docs/protocol.md#tasks, GW-132..134).
 */
import { describe, expect, it } from 'vitest';
import { ModernClient, type ModernOptions } from '../support/modern-client.ts';
import { fixtureServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf, type WireMessage } from '../support/wire-message.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const RELATED = 'io.modelcontextprotocol/related-task';
const EXTENSION = { extensions: { [TASKS]: {} } };
const WITH_TASKS = { elicitation: {}, ...EXTENSION };

/** Calls a tool that becomes a task. @returns the task's id */
async function create(client: ModernClient, name: string, args: Json = {}): Promise<string> {
  const { result } = await client.call(name, args);
  expect(result).toMatchObject({ resultType: 'task' });
  return String(result?.['taskId']);
}

const get = (client: ModernClient, taskId: string, options?: ModernOptions): Promise<WireMessage> =>
  client.request('tasks/get', { taskId }, options);

/** The task when it is in that state. */
async function inState(client: ModernClient, taskId: string, status: string): Promise<Json> {
  return await until(async () => {
    const { result } = await get(client, taskId);
    return result?.['status'] === status && result;
  });
}

describe('a task of a modern client at a legacy server', () => {
  const { harness, journal } = useScripted(fixtureServer('scripted-tasks.ts'));
  const modern = (capabilities: Json = WITH_TASKS): ModernClient =>
    harness.track(new ModernClient(harness.url(), capabilities));

  it('GW-132 is offered as an extension, never as a capability of the session era', async () => {
    const { result } = await modern().request('server/discover');
    const capabilities = result?.['capabilities'] as Json;
    expect(capabilities).toMatchObject(EXTENSION);
    expect(capabilities).not.toHaveProperty('tasks');
    const list = await modern().request('tools/list');
    expect(list.raw).not.toContain('execution');
    for (const method of ['tasks/list', 'tasks/result']) {
      const { status, message } = await modern().whole(method, { taskId: 'x' });
      expect([status, message.error?.code]).toEqual([404, -32601]);
    }
  });

  it('is flat, and tells its result when it is over', async () => {
    const client = modern();
    const made = await client.call('hold');
    expect(made.result).toMatchObject({
      resultType: 'task',
      status: 'working',
      ttlMs: 60_000,
      pollIntervalMs: 50,
      'x-custom': 1,
    });
    for (const old of ['task', 'ttl', 'pollInterval']) expect(made.result).not.toHaveProperty(old);
    expect(journal.messages('tools/call').at(-1)?.params).toMatchObject({ task: {} });
    const id = String(made.result?.['taskId']);
    expect(id).toMatch(/^t1\.[\w-]{40,}$/);
    expect((await get(client, id)).result).toMatchObject({
      resultType: 'complete',
      taskId: id,
      status: 'working',
    });
    const own = textOf(await client.call('last'));
    await client.call('finish', { taskId: own });
    const { result } = await get(client, id);
    expect(result).toMatchObject({ taskId: id, status: 'completed' });
    const inlined = result?.['result'] as Json;
    expect(inlined['content']).toEqual([{ type: 'text', text: 'held' }]);
    expect(JSON.stringify(result)).not.toContain(own);
    expect(inlined).not.toHaveProperty('_meta');
  });

  it('of a tool that can be none is an ordinary call', async () => {
    const { result } = await modern().call('plain', { v: 'p' });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'p' }] });
  });

  it('tells a failed tool as completed, and an error as failed', async () => {
    const client = modern();
    const failed = await inState(client, await create(client, 'fail'), 'completed');
    expect(failed['result']).toMatchObject({ isError: true });
    const broken = await inState(client, await create(client, 'broken'), 'failed');
    expect(broken['error']).toMatchObject({ code: -32603, message: 'broke' });
    expect(broken).not.toHaveProperty('result');
  });

  it('asks with tasks/get and is answered with tasks/update', async () => {
    const client = modern();
    const id = await create(client, 'ask');
    const { inputRequests } = await inState(client, id, 'input_required');
    const [[key, request] = []] = Object.entries(inputRequests as Json);
    expect(request).toMatchObject({ method: 'elicitation/create', params: { mode: 'form' } });
    expect(JSON.stringify(request)).not.toContain(RELATED);
    const nonsense = { taskId: id, inputResponses: { other: {}, [String(key)]: { action: 7 } } };
    expect((await client.request('tasks/update', nonsense)).result).toMatchObject({
      resultType: 'complete',
    });
    expect((await get(client, id)).result).toMatchObject({ inputRequests });
    const inputResponses = { [String(key)]: { action: 'accept', content: { answer: 'a' } } };
    const acknowledged = await client.request('tasks/update', { taskId: id, inputResponses });
    expect(acknowledged.result).not.toHaveProperty('taskId');
    const done = await inState(client, id, 'completed');
    expect(JSON.stringify(done['result'])).toContain('accept');
    const odd = await client.request('tasks/update', { taskId: id, inputResponses: 1 });
    expect(odd.error?.code).toBe(-32602);
  });

  it('is cancelled, and again when it is over', async () => {
    const client = modern();
    const id = await create(client, 'hold');
    for (let time = 0; time < 2; time++) {
      const { result } = await client.request('tasks/cancel', { taskId: id });
      expect(result).toMatchObject({ resultType: 'complete' });
      expect(result).not.toHaveProperty('status');
      expect((await get(client, id)).result).toMatchObject({ status: 'cancelled' });
    }
  });

  it('GW-133 needs the extension to be declared with the request', async () => {
    const id = await create(modern(), 'hold');
    const seen = journal.messages().length;
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { status, message } = await modern({}).whole(method, { taskId: id });
      expect([status, message.error?.code]).toEqual([400, -32021]);
      expect(message.error?.data).toEqual({ requiredCapabilities: EXTENSION });
    }
    expect(journal.messages()).toHaveLength(seen);
  });

  it('GW-134 has an id that is unknown when it is changed or made up', async () => {
    const client = modern();
    const id = await create(client, 'hold');
    const own = textOf(await client.call('last'));
    const flipped = `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`;
    const seen = journal.messages().length;
    for (const taskId of [own, flipped, '', 'x']) {
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { error } = await client.request(method, { taskId, inputResponses: {} });
        expect(error?.code, `${method} ${taskId}`).toBe(-32602);
      }
    }
    expect(journal.messages()).toHaveLength(seen);
    const mirrored = await get(client, id, { headers: { 'mcp-name': own } });
    expect(mirrored.error?.code).toBe(-32020);
  });
});

describe('a server that asks only while somebody waits for the result', () => {
  const { harness } = useScripted(fixtureServer('scripted-tasks.ts', { args: ['--queue'] }));

  it('is waited for, so that a modern client sees the server request', async () => {
    const client = harness.track(new ModernClient(harness.url(), WITH_TASKS));
    const id = await create(client, 'ask');
    const { inputRequests } = await inState(client, id, 'input_required');
    const [key] = Object.keys(inputRequests as Json);
    const inputResponses = { [String(key)]: { action: 'decline' } };
    await client.request('tasks/update', { taskId: id, inputResponses });
    const done = await inState(client, id, 'completed');
    expect(JSON.stringify(done['result'])).toContain('decline');
  });
});

describe('a tool that only runs as a task, for a client that knows none', () => {
  const { harness, journal } = useScripted(fixtureServer('scripted-tasks.ts'));

  it('is run and waited for', async () => {
    const client = harness.track(new ModernClient(harness.url(), { elicitation: {} }));
    const { result } = await client.call('must', { v: 'done' });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'done' }] });
    expect(JSON.stringify(result)).not.toContain(RELATED);
    const older = await harness.session({ version: '2025-06-18' });
    const answer = await older.call('must', { v: 'old' });
    expect(textOf(answer)).toBe('old');
    expect(answer.raw).not.toContain(RELATED);
    const ignored = await older.request('tools/call', { name: 'quick', task: {} });
    expect(textOf(ignored)).toBe('quick with no task');
  });

  it('asks in the way that the client knows', async () => {
    const older = await harness.session({
      version: '2025-06-18',
      capabilities: { elicitation: {} },
    });
    const { exchange, answer } = older.beginCall('must_ask');
    const serverRequest = await exchange.messages.next(hasMethod('elicitation/create'));
    expect(serverRequest.raw).not.toContain(RELATED);
    await older.respond(serverRequest.id, { action: 'accept', content: {} });
    expect(textOf(await answer)).toContain('accept');

    const client = harness.track(new ModernClient(harness.url(), { elicitation: {} }));
    const round = await client.call('must_ask');
    expect(round.result?.['resultType']).toBe('input_required');
    const [key] = Object.keys(round.result?.['inputRequests'] as Json);
    const responses = { [String(key)]: { action: 'decline' } };
    expect(textOf(await client.retry('must_ask', {}, round, responses))).toContain('decline');
  });

  it('is cancelled with the call', async () => {
    const older = await harness.session({
      version: '2025-06-18',
      capabilities: { elicitation: {} },
    });
    const { id, exchange } = older.beginCall('must_ask');
    await exchange.messages.next(hasMethod('elicitation/create'));
    await older.cancel(id);
    await journal.waitFor(({ method }) => method === 'tasks/cancel');
  });
});
