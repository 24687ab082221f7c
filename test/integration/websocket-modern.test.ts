// Requests of the stateless era on a WebSocket, beside a session or without one.
import { expect, it } from 'vitest';
import { enveloped } from '../support/modern-envelope.ts';
import { useScripted } from '../support/use-gateway.ts';
import { answers, textOf } from '../support/wire-message.ts';
import { WsClient } from '../support/ws-client.ts';

const { harness, journal } = useScripted();

async function open(): Promise<WsClient> {
  return harness.track(await WsClient.connect(harness.gateway.endpoint('one', 'ws')));
}

it('needs no session, and lives beside one', async () => {
  const client = await open();
  const call = enveloped({ name: 'echo', arguments: { text: 'hello' } });
  expect((await client.request('tools/call', call)).result).toMatchObject({
    resultType: 'complete',
  });
  const early = client.request('initialize', enveloped());
  expect((await early).error).toMatchObject({ code: -32601 });
  await client.initialize();
  const [modern, legacy] = await Promise.all([
    client.request('tools/list', enveloped(), 'm'),
    client.request('tools/list', {}, 'l'),
  ]);
  expect(modern.result).toHaveProperty('resultType');
  expect(legacy.result).not.toHaveProperty('resultType');
});

it('is cancelled by a message, and when the socket is closed', async () => {
  const client = await open();
  const call = enveloped({ name: 'hang', arguments: {} });
  for (const id of ['a', 'b']) client.begin('tools/call', call, id);
  const received = (): number[] =>
    journal
      .messages('tools/call')
      .filter(({ params }) => params?.['name'] === 'hang')
      .map(({ id }) => Number(id));
  await journal.waitFor(() => received().length === 2);
  client.notify('notifications/cancelled', { requestId: 'a' });
  const first = await journal.waitFor(({ method }) => method === 'notifications/cancelled');
  expect(received()).toContain(first.params?.['requestId']);
  expect(
    textOf(await client.request('tools/call', enveloped({ name: 'pid', arguments: {} }))),
  ).toMatch(/\d/);
  expect(client.messages.all.filter(answers('a'))).toEqual([]);
  await client.close();
  await journal.waitFor(
    ({ method, params }) =>
      method === 'notifications/cancelled' && params?.['requestId'] !== first.params?.['requestId'],
  );
});
