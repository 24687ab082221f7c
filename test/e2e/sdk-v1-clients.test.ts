/**
 * The official TypeScript SDK 1.x against the shipped servers, over all of its transports at once.
 */
import { describe } from 'vitest';
import { testShippedServers } from './many-clients.ts';
import { connectV1 } from './sdk-v1.ts';

describe('SDK 1.x over Streamable HTTP, HTTP+SSE and WebSocket', () => {
  testShippedServers(connectV1, ['streamable-http', 'sse', 'websocket']);
});
