// Servers of an endpoint that start or list late, or never: clients wait for them once, together, and are
// told when they are there.
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { clientAt, ERAS, modernAt, sessionAt, toolNames } from '../support/era-client.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { hasMethod } from '../support/wire-message.ts';

const TOOLS_CHANGED = 'notifications/tools/list_changed';
const RESOURCES = [{ uri: 'note://one', name: 'one' }];
/** Waiting anew for each would take them longer than a test may take. */
const MANY = 20;

describe('a server that starts and says nothing, beside a good one', () => {
  const good = new CatalogServer({ name: 'good', tools: tools('t'), resources: RESOURCES });
  const harness = useGateway(() => ({
    servers: { good: good.config, hangs: { command: 'sleep', args: ['100000'] } },
  }));

  it('does not keep the gateway from being ready, which says what is missing', async () => {
    const response = await fetch(`${harness.gateway.adminUrl}/readyz`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ unavailable: { hangs: expect.any(String) } });
  });

  it.each(ERAS)('is not waited for by each client that comes (%s)', async (era) => {
    for (let count = 0; count < MANY; count++) {
      const client = await clientAt(harness, '/mcp', era);
      if (era === 'modern') await client.request('server/discover', {});
      expect(await toolNames(client)).toEqual(['good__t']);
      const { result } = await client.request('resources/read', { uri: 'note://one' });
      expect(result).toMatchObject({ contents: [{ uri: 'note://one' }] });
    }
  });
});

describe('a server whose first list fails', () => {
  const good = new CatalogServer({ name: 'good', tools: tools('g') });
  const late = new CatalogServer({ name: 'late', tools: tools('t'), refused: ['tools/list'] });
  const harness = useGateway(() => ({ servers: { good: good.config, late: late.config } }));

  it('is asked again, and all who were given the short list are told', async () => {
    const session = await sessionAt(harness, '/mcp');
    const stream = session.openStream();
    await stream.head;
    const modern = modernAt(harness, '/mcp');
    const listen = await modern.listen({ toolsListChanged: true });
    for (const client of [session, modern]) expect(await toolNames(client)).toEqual(['good__g']);
    late.change({ refused: [] });
    await stream.messages.next(hasMethod(TOOLS_CHANGED), 60_000);
    await listen.messages.next(hasMethod(TOOLS_CHANGED), 60_000);
    for (const client of [session, modern]) {
      await until(async () => (await toolNames(client)).includes('late__t'));
    }
  });
});
