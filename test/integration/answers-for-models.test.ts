// Answers that a model or a modern client could not use as they are.
import { describe, expect, it } from 'vitest';
import { CatalogServer, tools } from '../support/catalog-server.ts';
import { clientAt, ERAS, modernAt } from '../support/era-client.ts';
import { useGateway } from '../support/use-gateway.ts';

const files = new CatalogServer({
  name: 'files',
  tools: tools('read'),
  instructions: 'Use read to read.',
});
const other = new CatalogServer({ name: 'other', tools: tools('read') });
const harness = useGateway(() => ({
  servers: { files: files.config, other: other.config },
  config: { endpoints: { '/search': { toolList: 'search' } } },
}));

describe('call_tool', () => {
  it.each(ERAS)('answers an unknown name as describe_tool does: %s', async (era) => {
    const client = await clientAt(harness, '/search/mcp', era);
    const answers = await Promise.all(
      ['call_tool', 'describe_tool'].map((name) =>
        client.request('tools/call', { name, arguments: { name: 'files__raed' } }),
      ),
    );
    const [called, described] = answers.map(({ result }) => result);
    expect(called).toMatchObject({ isError: true });
    expect(called?.['content']).toEqual(described?.['content']);
  });
});

describe('a legacy server that answers with a result that is no object', () => {
  it('fails the call of a modern client, which could not read it', async () => {
    const client = modernAt(harness, '/servers/files/mcp');
    const { error } = await client.call('read', { result: [1] });
    expect(error).toMatchObject({ data: { reason: 'server_protocol_error', server: 'files' } });
  });
});

describe('instructions of several servers', () => {
  it('say what the tools that they name are called', async () => {
    const { result } = await modernAt(harness, '/mcp').request('server/discover', {});
    expect(result?.['instructions']).toContain('files__NAME');
  });
});
