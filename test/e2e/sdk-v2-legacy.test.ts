/**
 * The official TypeScript SDK 2.x in legacy mode against the shipped servers.
 */
import { describe, expect, it } from 'vitest';
import { useGateway } from '../support/use-gateway.ts';
import { testShippedServers } from './many-clients.ts';
import { connectV2 } from './sdk-v2.ts';
import { SHIPPED_NAMES, shippedServers } from './shipped-servers.ts';

describe('SDK 2.x in legacy mode over Streamable HTTP and HTTP+SSE', () => {
  testShippedServers(connectV2, ['streamable-http', 'sse']);
});

describe('SDK 2.x that asks for the modern version first', () => {
  const harness = useGateway(shippedServers);

  it.each(['streamable-http', 'sse'] as const)(
    'gets an answer over %s that makes it modern',
    async (kind) => {
      for (const name of SHIPPED_NAMES) {
        const base = `${harness.gateway.url}/servers/${name}`;
        const client = harness.track(await connectV2(base, kind, { secret: 'x' }, 'auto'));
        expect(client.era).toBe('modern');
        expect((await client.listTools()).length).toBeGreaterThan(0);
      }
    },
  );
});
