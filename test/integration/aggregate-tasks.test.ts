/** Tasks at an endpoint with several servers: each is found at the server that runs it (GW-134). */
import { expect, it } from 'vitest';
import { LegacySession } from '../support/legacy-session.ts';
import { ModernClient } from '../support/modern-client.ts';
import { fixtureServer } from '../support/scripted-server.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod, type Json, textOf } from '../support/wire-message.ts';

const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const servers = {
  old: fixtureServer('scripted-tasks.ts'),
  new: fixtureServer('scripted-modern-tasks.ts'),
};
const harness = useGateway(() => ({
  servers: { old: servers.old.config, new: servers.new.config },
}));
const url = (): string => new URL('/mcp', harness.gateway.url).href;

it('a modern client has tasks at servers of both eras, and is told of them', async () => {
  const client = harness.track(new ModernClient(url(), EXTENSION));
  const { result: found } = await client.request('server/discover');
  expect(found?.['capabilities']).toMatchObject(EXTENSION);
  const made = await Promise.all([client.call('old__hold'), client.call('new__make')]);
  const ids = made.map(({ result }) => String(result?.['taskId']));
  for (const taskId of ids) {
    const { result } = await client.request('tasks/get', { taskId });
    expect(result).toMatchObject({ taskId, status: 'working' });
  }
  const stream = await client.listen({ taskIds: ids });
  for (const server of ['old', 'new']) {
    const taskId = textOf(await client.call(`${server}__last`));
    await client.call(`${server}__finish`, { taskId });
  }
  for (const taskId of ids) {
    await stream.messages.next(
      (message) =>
        hasMethod('notifications/tasks')(message) && message.params?.['taskId'] === taskId,
    );
  }
});

it('a legacy client has tasks at the server that has them', async () => {
  const session = harness.track(await LegacySession.open(url()));
  const { result } = await session.request('tools/call', { name: 'old__quick', task: {} });
  const { taskId } = (result?.['task'] ?? {}) as Json;
  expect((await session.request('tasks/get', { taskId })).result).toMatchObject({ taskId });
  expect(textOf(await session.request('tasks/result', { taskId }))).toBe('quick');
  const foreign = await session.request('tasks/get', { taskId: 'task-1' });
  expect(foreign.error?.code).toBe(-32602);
});
