// Files as desktop hosts write them.
import { describe, expect, it } from 'vitest';
import { fitName } from '../../../src/config/host-file.ts';
import { type LoadedConfig, loadText } from '../../../src/config/load.ts';
import { processTarget } from '../../support/process-target.ts';

function read(value: unknown): LoadedConfig {
  return loadText('/etc/hosts.json', JSON.stringify(value, null, 2), {});
}

describe('a file with mcpServers', () => {
  it('is accepted as hosts write it', () => {
    const { config, warnings } = read({
      globalShortcut: '',
      mcpServers: {
        'My Files!': {
          type: 'stdio',
          command: 'npx',
          args: ['-y', 'x'],
          env: { A: 'b' },
          cwd: '/d',
        },
        github: {
          command: 'gh',
          autoApprove: [],
          disabledTools: ['x'],
          timeout: 60,
          disabled: false,
        },
        off: { command: 'x', disabled: true },
      },
    });
    expect(
      config.servers.map((server) => {
        const { command, cwd } = processTarget(server);
        return [server.name, command, cwd];
      }),
    ).toEqual([
      ['my-files', 'npx', '/d'],
      ['github', 'gh', '/etc'],
    ]);
    expect(warnings.map((warning) => warning.path)).toEqual([
      'globalShortcut',
      'mcpServers.github.autoApprove',
      'mcpServers.github.disabledTools',
      'mcpServers.github.timeout',
    ]);
  });

  it('may have the options of a gateway too', () => {
    const { config } = read({
      listen: { port: 0 },
      mcpServers: { a: { command: 'x', sharing: 'session', timeouts: { start: '1s' } } },
    });
    expect(config.servers[0]).toMatchObject({ sharing: 'session', timeouts: { startMs: 1000 } });
  });

  it('may name remote servers', () => {
    const { config, warnings } = read({
      mcpServers: {
        a: { type: 'http', url: 'https://x/mcp', headers: { A: 'b' } },
        b: { type: 'sse', serverUrl: 'https://y/sse', oauth: {} },
        c: { url: 'https://z/mcp', auth: { CLIENT_ID: 'x' } },
      },
    });
    const rest = { kind: 'remote', liveHeaders: {}, allowPrivate: true, tls: {} };
    expect(config.servers.map(({ target }) => target)).toEqual([
      { ...rest, url: 'https://x/mcp', transport: 'auto', headers: { a: 'b' } },
      { ...rest, url: 'https://y/sse', transport: 'sse', headers: {} },
      { ...rest, url: 'https://z/mcp', transport: 'auto', headers: {} },
    ]);
    const ignored = ['mcpServers.b.oauth', 'mcpServers.c.auth'];
    expect(warnings.map((warning) => warning.path)).toEqual(ignored);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'two names that become one',
      { 'A b': { command: 'x' }, 'a-b': { command: 'y' } },
      /:6:5: mcpServers\.a-b: becomes the server name a-b, as "A b" does/,
    ],
    ['a name of nothing', { '!!': { command: 'x' } }, /:3:5: mcpServers\."!!": must be a name/],
    [
      'a number in env',
      { a: { command: 'x', env: { N: 1 } } },
      /mcpServers\.a\.env\.N: is the number 1, must be text/,
    ],
    ['no command', { a: { args: [] } }, /:3:5: mcpServers\.a: has no command/],
    ['only disabled servers', { a: { command: 'x', disabled: true } }, /has only disabled servers/],
    ['an entry that is no map', { a: 'x' }, /mcpServers\.a: is "x", must be a map/],
  ])('with %s is refused', (_, mcpServers, expected) => {
    expect(() => read({ mcpServers })).toThrow(expected);
  });

  it('may not have servers too', () => {
    const entry = { a: { command: 'x' } };
    expect(() => read({ servers: entry, mcpServers: entry })).toThrow(
      /mcpServers: stands beside servers/,
    );
  });
});

it.each([
  ['GitHub (work)', 'github-work'],
  ['--x--', 'x'],
  ['a_b.c', 'a-b-c'],
  ['ä', ''],
  ['x'.repeat(40), 'x'.repeat(32)],
])('the name %j is made to fit: %j', (title, name) => {
  expect(fitName(title)).toBe(name);
});
