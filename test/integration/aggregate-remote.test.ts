// Remote servers of both eras next to one another behind one endpoint: what stands in the headers of a
// request is what the server's own message says, not the client's.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientAt, ERAS, modernAt, toolNames } from '../support/era-client.ts';
import { RemoteServer } from '../support/remote-server.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { textOf } from '../support/wire-message.ts';

const ROUTED = {
  name: 'routed',
  inputSchema: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  },
};
let legacy: RemoteServer;
let modern: RemoteServer;

beforeAll(async () => {
  legacy = await RemoteServer.start({ era: 'legacy' });
  modern = await RemoteServer.start({
    era: 'modern',
    tools: [{ name: 'echo', inputSchema: { type: 'object' } }, ROUTED],
  });
});
// Hooks run backwards at the end: the gateway is stopped first.
afterAll(async () => {
  await Promise.all([legacy.close(), modern.close()]);
});

const here = scriptedServer();
const harness = useGateway(() => ({
  servers: { here: here.config, legacy: { url: legacy.url }, modern: { url: modern.url } },
}));

it.each(ERAS)('GW-100: a call has the own name in message and headers (%s client)', async (era) => {
  const client = await clientAt(harness, '/mcp', era);
  const names = await toolNames(client);
  expect(names).toContain('legacy__echo');
  expect(names).toContain('modern__echo');
  for (const [key, server] of Object.entries({ legacy, modern })) {
    expect(textOf(await client.call(`${key}__echo`, { a: key }))).toBe(JSON.stringify({ a: key }));
    const sent = server.posts('tools/call').at(-1);
    expect(sent?.message.params?.['name']).toBe('echo');
    if (key === 'modern') expect(sent?.headers['mcp-name']).toBe('echo');
  }
});

it('repeats arguments in headers where the schema of the server says so', async () => {
  const client = modernAt(harness, '/mcp');
  const options = { headers: { 'mcp-param-region': 'eu' } };
  await client.call('modern__routed', { region: 'eu' }, options);
  const sent = modern.posts('tools/call').at(-1);
  expect(sent?.headers['mcp-param-region']).toBe('eu');
  expect(sent?.headers['mcp-name']).toBe('routed');
  const wrong = { headers: { 'mcp-param-region': 'us' } };
  const { error } = await client.call('modern__routed', { region: 'eu' }, wrong);
  expect(error).toMatchObject({ code: -32_020 });
});

it.each(ERAS)(
  'reads from a server that can not list, and asks it once for lists (%s)',
  async (era) => {
    const client = await clientAt(harness, '/mcp', era);
    await client.request('resources/list');
    const asked = (): number =>
      [legacy, modern].flatMap((server) => server.posts('resources/list')).length;
    const before = asked();
    for (const uri of ['legacy+x://1', 'modern+x://2', 'legacy+x://3']) {
      const { result } = await client.request('resources/read', { uri });
      expect(result?.['contents']).toMatchObject([{ uri }]);
      await client.request('resources/list');
    }
    // Once more at most, after a time.
    expect(asked() - before).toBeLessThan(3);
  },
);

it.each(ERAS)(
  'GW-102: one that is gone costs its own calls, and is used again (%s)',
  async (era) => {
    const client = await clientAt(harness, '/mcp', era);
    const { port } = legacy;
    await legacy.close();
    const { error } = await client.call('legacy__echo', {});
    expect(error).toMatchObject({ code: -32_603, data: { server: 'legacy' } });
    expect(textOf(await client.call('here__echo', { a: 1 }))).toBe('{"a":1}');
    expect(textOf(await client.call('modern__echo', { a: 1 }))).toBe('{"a":1}');
    expect(await toolNames(client)).toContain('modern__echo');
    await legacy.listen(port);
    await until(async () => (await client.call('legacy__echo', {})).result !== undefined, {
      timeoutMs: 60_000,
    });
  },
);
