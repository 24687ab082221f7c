/**
 * `pin: enforce`: a tool whose definition nobody has accepted is there for nobody.
 */
import { expect, it } from 'vitest';
import { CatalogServer, tools } from '../../support/catalog-server.ts';
import { clientAt, ERAS, toolNames } from '../../support/era-client.ts';
import { useGateway } from '../../support/use-gateway.ts';

const held = new CatalogServer({ name: 'held', tools: tools('new') });
const warned = new CatalogServer({ name: 'warned', tools: tools('new') });
const harness = useGateway(() => ({
  servers: {
    held: { ...held.config, pin: 'enforce' },
    warned: { ...warned.config, pin: 'warn' },
  },
}));

it.each(ERAS)(
  'M02 a tool that nobody accepted is not listed, and can not be called (%s)',
  async (era) => {
    expect(await toolNames(await clientAt(harness, '/mcp', era))).toEqual(['warned__new']);
    for (const [path, name] of [
      ['/servers/held/mcp', 'new'],
      ['/mcp', 'held__new'],
    ] as const) {
      const client = await clientAt(harness, path, era);
      expect((await client.call(name)).error).toMatchObject({ code: -32_602 });
    }
    expect(held.journal.messages('tools/call')).toEqual([]);
    await harness.gateway.waitForLog(
      ({ server, first, isWithheld }) =>
        server === 'held' && isWithheld === true && JSON.stringify(first).includes('"tool":"new"'),
    );
  },
);
