// What a server says of itself is told to each of its clients, so that it must not be large.
import { expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { ERAS, modernAt, toolNames } from '../support/era-client.ts';
import { useGateway } from '../support/use-gateway.ts';

const good = new CatalogServer({ name: 'good', tools: tools('t') });
const bulky = ERAS.map(
  (era) =>
    [
      era,
      new CatalogServer(
        { name: 'bulky', tools: tools('t'), instructions: 'x'.repeat(300_000) },
        { era },
      ),
    ] as const,
);
const harness = useGateway(() => ({
  servers: {
    good: good.config,
    ...Object.fromEntries(bulky.map(([era, { config }]) => [`bulky-${era}`, config])),
  },
}));

it.each(ERAS)(
  'A %s server that says too much of itself is not used, and why is said',
  async (era) => {
    const client = modernAt(harness, `/servers/bulky-${era}/mcp`);
    const { error } = await client.call('t');
    expect(error).toMatchObject({ data: { reason: 'server_unavailable', outcome: 'not_sent' } });
    expect(String(error?.['message'])).toContain('shorten its instructions');
    expect(await toolNames(modernAt(harness, '/mcp'))).toEqual(['good__t']);
  },
);
