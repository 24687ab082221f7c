// Endpoints that merge servers, and shapes of servers, that the configuration can not mean.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../../src/cli/commands.ts';
import { tempDir } from '../../support/temp-dir.ts';
import type { Json } from '../../support/wire-message.ts';

describe('what can not be meant', () => {
  const server = { command: 'true' };
  const check = async (document: Json): Promise<string> => {
    const file = join(tempDir(), 'sluice.yaml');
    writeFileSync(file, JSON.stringify(document));
    let said = '';
    const say = (text: string): void => {
      said += text;
    };
    const never = () => Promise.reject(new Error('nothing is started'));
    const status = await main(['check', '--config', file], {
      cwd: tempDir(),
      environment: {},
      out: say,
      err: say,
      startGateway: never,
      connect: never,
      pin: never,
    });
    expect(status).toBe(1);
    return said;
  };
  const endpoint = (path: string, options: Json): Json => ({
    servers: { files: server, words: server },
    endpoints: { [path]: options },
  });

  it.each([
    ['another server', endpoint('/t', { servers: ['file'] }), /did you mean files\?/],
    ['a server twice', endpoint('/t', { servers: ['files', 'files'] }), /is listed twice/],
    ['no server', endpoint('/t', { servers: [] }), /at least one server/],
    ['a path that is taken', endpoint('/mcp', {}), /served already/],
    ['a path below one that is taken', endpoint('/servers/files', {}), /served already/],
    ['no path', endpoint('team', {}), /must be a path such as \/team/],
    ['another prefix', endpoint('/t', { prefix: 'sometimes' }), /always/],
    ['a foreign separator', endpoint('/t', { separator: '.' }), /1 to 8 of/],
    [
      'a shape of nobody',
      endpoint('/t', { servers: ['files'], shape: { words: {} } }),
      /no server of this endpoint/,
    ],
    ['an unknown key', endpoint('/t', { prefx: 'never' }), /prefix/],
    [
      'two tools with one name',
      { servers: { files: { ...server, tools: { rename: { a: 'c', b: 'c' } } } } },
      /new name of a too/,
    ],
    [
      'a new name that is none',
      { servers: { files: { ...server, tools: { rename: { a: 'c d' } } } } },
      /must be a name/,
    ],
    [
      'an argument that is both',
      {
        servers: {
          files: {
            ...server,
            tools: { overrides: { a: { arguments: { x: { value: 1, default: 2 } } } } },
          },
        },
      },
      /both value and default/,
    ],
    [
      'plain JSON-RPC merged',
      {
        servers: { a: { ...server, protocol: 'jsonrpc' } },
        endpoints: { '/t': { servers: ['a'] } },
      },
      /plain JSON-RPC/,
    ],
  ])('is refused before the start: %s', async (_what, document, why) => {
    const said = await check(document as Json);
    expect(said).toMatch(why);
    expect(said).toMatch(/sluice\.yaml:\d+:\d+: /);
  });
});
