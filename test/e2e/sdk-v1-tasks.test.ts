/**
 * Tasks of the official SDK 1.x on both sides, over all of its transports; and of the same server for a
 * client that knows the tasks extension, or none at all (docs/protocol.md#tasks).
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, it } from 'vitest';
import { ModernClient } from '../support/modern-client.ts';
import { FIXTURES } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import type { Json } from '../support/wire-message.ts';

const command = process.execPath;
const harness = useGateway(() => ({
  servers: { one: { command, args: [`${FIXTURES}/sdk-v1-tasks.ts`] } },
}));

async function connect(): Promise<Client> {
  const client = new Client(
    { name: 'sdk-v1', version: '1.0.0' },
    { capabilities: { elicitation: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }));
  const transport = new StreamableHTTPClientTransport(new URL(harness.url()));
  // The SDK's own types disagree under exactOptionalPropertyTypes (`sessionId?: string`).
  await client.connect(transport as Transport);
  harness.track({
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  });
  return client;
}

it.each([
  ['later', 'told'],
  ['asked', 'accept'],
])('an SDK client runs the task %s of an SDK server', async (name, text) => {
  const client = await connect();
  await client.listTools();
  const seen: string[] = [];
  const stream = client.experimental.tasks.callToolStream({ name, arguments: { v: text } });
  for await (const message of stream) {
    seen.push(message.type);
    if (message.type === 'error') throw message.error;
    if (message.type === 'result') {
      expect(message.result).toMatchObject({ content: [{ type: 'text', text }] });
    }
  }
  expect([seen[0], seen.at(-1)]).toEqual(['taskCreated', 'result']);
  const { tasks } = await client.experimental.tasks.listTasks();
  expect(tasks.length).toBeGreaterThan(0);
  const [first] = tasks;
  expect(await client.experimental.tasks.getTask(first?.taskId ?? '')).toMatchObject({
    status: 'completed',
  });
});

it('a modern client runs both as tasks of the extension', async () => {
  const extensions = { 'io.modelcontextprotocol/tasks': {} };
  const client = harness.track(new ModernClient(harness.url(), { elicitation: {}, extensions }));
  for (const [name, text] of [
    ['later', 'told'],
    ['asked', 'accept'],
  ] as const) {
    const { result } = await client.call(name, { v: text });
    const taskId = String(result?.['taskId']);
    const done = await until(async () => {
      const { result: task } = await client.request('tasks/get', { taskId });
      const asked = Object.keys((task?.['inputRequests'] ?? {}) as Json);
      if (asked.length > 0) {
        const answers = asked.map((key) => [key, { action: 'accept', content: {} }]);
        const inputResponses = Object.fromEntries(answers);
        await client.request('tasks/update', { taskId, inputResponses });
      }
      return task?.['status'] === 'completed' && task;
    });
    expect(done['result']).toMatchObject({ content: [{ text }] });
  }
});

it('a client that knows no tasks calls both', async () => {
  const session = await harness.session({
    version: '2025-06-18',
    capabilities: { elicitation: {} },
  });
  expect((await session.call('later', { v: 'told' })).raw).toContain('told');
  const { exchange, answer } = session.beginCall('asked');
  const question = await exchange.messages.next(({ method }) => method === 'elicitation/create');
  await session.respond(question.id, { action: 'accept', content: {} });
  expect((await answer).raw).toContain('accept');
});
