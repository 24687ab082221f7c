/**
 * Tasks at servers of the stateless era: passed between modern peers under ids of the gateway's own, and
 * not offered to clients that could not use them (docs/protocol.md#tasks, GW-133, GW-134).
 */
import { describe, expect, it } from 'vitest';
import { ModernClient } from '../support/modern-client.ts';
import { fixtureServer } from '../support/scripted-server.ts';
import { useScripted } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';

const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const UPDATE = hasMethod('notifications/tasks');

async function create(client: ModernClient, name: string): Promise<{ id: string; own: string }> {
  const { result } = await client.call(name);
  expect(result).toMatchObject({ resultType: 'task' });
  return { id: String(result?.['taskId']), own: textOf(await client.call('last')) };
}

describe('a task of a modern client at a modern server', () => {
  const { harness, journal } = useScripted(fixtureServer('scripted-modern-tasks.ts'));
  const modern = (capabilities: Json = EXTENSION): ModernClient =>
    harness.track(new ModernClient(harness.url(), capabilities));

  it('GW-134 has an id of its own on either side', async () => {
    const client = modern();
    const { id, own } = await create(client, 'make');
    expect(id).toMatch(/^t1\.[\w-]{40,}$/);
    const { result } = await client.request('tasks/get', { taskId: id });
    expect(result).toMatchObject({ taskId: id, status: 'working', ttlMs: 60_000, 'x-custom': 1 });
    expect(journal.messages('tasks/get').at(-1)?.params?.['taskId']).toBe(own);
    const seen = journal.messages().length;
    for (const taskId of [own, `${id.slice(0, -1)}~`, 'x', 7]) {
      const { error } = await client.request('tasks/get', { taskId });
      expect(error?.code).toBe(-32602);
    }
    expect(journal.messages()).toHaveLength(seen);
    expect((await client.request('tasks/cancel', { taskId: id })).result?.['resultType']).toBe(
      'complete',
    );
  });

  it('is asked and answered as the server has it', async () => {
    const client = modern();
    const { id } = await create(client, 'ask');
    const { result } = await client.request('tasks/get', { taskId: id });
    expect(result).toMatchObject({ status: 'input_required', inputRequests: { q: {} } });
    const inputResponses = { q: { action: 'accept', content: { n: 1 } } };
    await client.request('tasks/update', { taskId: id, inputResponses });
    expect(journal.messages('tasks/update').at(-1)?.params).toMatchObject({ inputResponses });
    const done = await client.request('tasks/get', { taskId: id });
    expect(done.result).toMatchObject({ status: 'completed' });
  });

  it('GW-133 needs the extension to be declared with the request', async () => {
    const { id } = await create(modern(), 'make');
    const seen = journal.messages().length;
    const { status, message } = await modern({}).whole('tasks/get', { taskId: id });
    expect([status, message.error?.code]).toEqual([400, -32021]);
    expect(message.error?.data).toEqual({ requiredCapabilities: EXTENSION });
    const listen = await modern({}).whole('subscriptions/listen', {
      notifications: { taskIds: [id] },
    });
    expect(listen.message.error?.code).toBe(-32021);
    expect(journal.messages()).toHaveLength(seen);
    const must = await modern({}).whole('tools/call', { name: 'must', arguments: {} });
    expect([must.status, must.message.error?.code]).toEqual([400, -32021]);
    const rude = await modern({}).call('rude');
    expect(rude.error?.code).toBe(-32603);
  });

  it('is told of on a listen stream that asked for it, and on no other', async () => {
    const client = modern();
    const { id, own } = await create(client, 'make');
    const other = await create(client, 'make');
    const stream = await client.listen({ taskIds: [id, 'made-up', other.own] });
    const [acknowledged] = stream.messages.all;
    expect(acknowledged?.params).toMatchObject({ notifications: { taskIds: [id] } });
    await client.call('finish', { taskId: other.own });
    await client.call('finish', { taskId: own });
    const { params } = await stream.messages.next(UPDATE);
    expect(params).toMatchObject({ taskId: id, status: 'completed' });
    expect(params?.['_meta']).toEqual({ 'io.modelcontextprotocol/subscriptionId': 'l' });
    expect(stream.messages.all.filter(UPDATE)).toHaveLength(1);
  });

  it('is not offered to a client of the session era', async () => {
    const session = await harness.session({ capabilities: { ...EXTENSION, tasks: {} } });
    const { capabilities } = session.initializeAnswer.result ?? {};
    expect(capabilities).toEqual({ tools: {}, extensions: {} });
    expect((await session.request('tasks/get', { taskId: 'task-1' })).error?.code).toBe(-32601);
    expect(textOf(await session.call('make'))).toBe('make with no task');
    expect(journal.messages('tools/call').at(-1)?.raw).not.toContain('/tasks');
    expect((await session.call('must')).error).toMatchObject({ code: -32603 });
  });
});

describe('a task of a modern client at a legacy server', () => {
  const { harness } = useScripted(fixtureServer('scripted-tasks.ts'));

  it('is told of, with its result, on a listen stream that asked for it', async () => {
    const client = harness.track(new ModernClient(harness.url(), EXTENSION));
    const { id, own } = await create(client, 'hold');
    const stream = await client.listen({ taskIds: [id] });
    await client.call('finish', { taskId: own });
    const { params } = await stream.messages.next(UPDATE);
    expect(params).toMatchObject({
      taskId: id,
      status: 'completed',
      result: { content: [{ text: 'held' }] },
    });
  });
});
