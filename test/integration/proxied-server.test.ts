/** A remote server behind the proxy that its entry names. */
import { afterAll, expect, it } from 'vitest';
import { ProxyServer } from '../support/proxy-server.ts';
import { RemoteServer } from '../support/remote-server.ts';
import { useGateway } from '../support/use-gateway.ts';
import { textOf } from '../support/wire-message.ts';

const remote = await RemoteServer.start();
const proxy = await ProxyServer.start();
proxy.hosts.set('mcp.invalid:80', remote.port);
proxy.authorization = `Basic ${Buffer.from('me:secret').toString('base64')}`;
afterAll(() => Promise.all([remote.close(), proxy.close()]));

const harness = useGateway(() => ({
  servers: {
    one: { url: 'http://mcp.invalid/mcp', proxy: proxy.url.replace('//', '//me:secret@') },
    two: { url: remote.url, proxy: 'none' },
    three: { url: 'http://mcp.invalid/mcp', proxy: proxy.url, start: 'lazy' },
  },
}));

it('is served, and the proxy sees its requests only', async () => {
  for (const server of ['one', 'two']) {
    const session = await harness.session({ server });
    expect(textOf(await session.call('echo', { a: server }))).toContain(server);
  }
  expect(proxy.targets.every((target) => target.endsWith(' http://mcp.invalid/mcp'))).toBe(true);
  expect(remote.requests.some(({ headers }) => headers.host === 'mcp.invalid')).toBe(true);
  expect(remote.requests.some(({ headers }) => headers.host !== 'mcp.invalid')).toBe(true);
});

it('that the proxy does not let through is down for that reason', async () => {
  await expect(harness.session({ server: 'three' })).rejects.toThrow(
    'its proxy wants a user name and a password (HTTP 407)',
  );
});
