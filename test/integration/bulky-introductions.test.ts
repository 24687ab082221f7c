// What a server says of itself is told to each of its clients, so that it must not be large.
import { connect } from 'node:net';
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
const rig = useGateway(() => ({
  servers: {
    good: good.config,
    ...Object.fromEntries(bulky.map(([era, { config }]) => [`bulky-${era}`, config])),
  },
}));

it.each(ERAS)(
  'A %s server that says too much of itself is not used, and why is said',
  async (era) => {
    const client = modernAt(rig, `/servers/bulky-${era}/mcp`);
    const { error } = await client.call('t');
    expect(error).toMatchObject({ data: { reason: 'server_unavailable', outcome: 'not_sent' } });
    expect(String(error?.['message'])).toContain('shorten its instructions');
    expect(await toolNames(modernAt(rig, '/mcp'))).toEqual(['good__t']);
  },
);

it('A connection to the admin listener has few of many requests answered', async () => {
  const { hostname, port } = new URL(rig.gateway.adminUrl);
  const request = `GET /metrics HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`;
  const answer = await new Promise<string>((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(request.repeat(1_500)));
    socket.on('data', (part: Buffer) => parts.push(part));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Buffer.concat(parts).toString('latin1')));
  });
  expect(answer.split('HTTP/1.1 200 ').length - 1).toBeLessThanOrEqual(32);
  expect((await fetch(`${rig.gateway.adminUrl}/healthz`)).status).toBe(200);
});
