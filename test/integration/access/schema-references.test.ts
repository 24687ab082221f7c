/**
 * Schemas that refer to somewhere on the network: nobody goes there, whether arguments are checked or not.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CatalogServer } from '../../support/catalog-server.ts';
import { clientAt, ERAS, toolNames } from '../../support/era-client.ts';
import { useGateway } from '../../support/use-gateway.ts';
import { textOf } from '../../support/wire-message.ts';

const asked: string[] = [];
let elsewhere: Server;
let catalog: CatalogServer;

beforeAll(async () => {
  elsewhere = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('{"type":"object"}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const { port } = elsewhere.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const schemas = [
    { $ref: `${url}/ref` },
    { $schema: `${url}/schema`, type: 'object' },
    { $id: `${url}/id`, type: 'object', properties: { a: { $ref: 'other.json' } } },
    { type: 'object', properties: { a: { $dynamicRef: `${url}/dynamic#x` } } },
  ];
  const tools = schemas.map((inputSchema, at) => ({
    name: `t${at}`,
    inputSchema: { type: 'object', ...inputSchema },
    outputSchema: inputSchema,
    icons: [{ src: `${url}/icon.png` }],
  }));
  catalog = new CatalogServer({ name: 'refs', tools });
});
afterAll(async () => {
  elsewhere.closeAllConnections();
  await new Promise((resolve) => elsewhere.close(resolve));
});

const harness = useGateway(() => ({
  servers: { refs: catalog.config, checked: { ...catalog.config, validateArguments: 'enforce' } },
}));

it.each(ERAS)('GW-159 C13 D05 asks nobody (%s)', async (era) => {
  for (const path of ['/servers/refs/mcp', '/servers/checked/mcp', '/mcp']) {
    const client = await clientAt(harness, path, era);
    for (const name of await toolNames(client)) {
      const { result } = await client.call(name, { a: 1 });
      expect(textOf({ result } as never)).toContain('"server":"refs"');
    }
  }
  expect(asked).toEqual([]);
});
