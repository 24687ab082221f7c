// What is in files of hosts: switches, names, transports, variables, and what can't be done.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitName, nameServers } from '../../../src/config/hosts/names.ts';
import { ConfigError, formatIssue } from '../../../src/config/issues.ts';
import { type LoadedConfig, loadText } from '../../../src/config/load.ts';
import { processTarget } from '../../support/process-target.ts';
import { runs } from '../../support/runs.ts';

const environment = { HOME: '/home/ann', TOKEN: 't0ken-value', YES: 'true', EMPTY: '' };

function read(value: unknown, file = '/etc/hosts.json'): LoadedConfig {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return loadText(file, text, environment);
}

/** The servers that there are. */
function names(value: unknown): string[] {
  return read(value).config.servers.map(({ name }) => name);
}

/** What is wrong, as `line:col: path: message`. */
function faults(value: unknown, file = '/etc/hosts.json'): string[] {
  try {
    read(value, file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map((issue) => formatIssue(issue).replace(`${file}:`, ''));
  }
  return [];
}

/** The warnings as `path: message`. */
function warnings(value: unknown): string[] {
  return read(value).warnings.map(({ path, message }) => `${path}: ${message}`);
}

const x = { command: 'x' };

describe('a file with mcpServers', () => {
  it('may have the options of a gateway too', () => {
    const { config } = read({
      listen: { port: 0 },
      mcpServers: {
        a: { ...x, sharing: 'session', timeouts: { start: '1s' }, tools: { allow: ['b'] } },
      },
    });
    expect(config.servers[0]).toMatchObject({ sharing: 'session', timeouts: { start: 1000 } });
    expect(config.catalogOptionsOf.get('a')?.tools?.allow).toEqual(['b']);
  });

  it('may name remote servers', () => {
    const { config } = read({
      mcpServers: {
        a: { type: 'http', url: 'https://x/mcp', headers: { A: 'b' } },
        b: { type: 'sse', serverUrl: 'https://y/sse', oauth: {} },
        c: { url: 'https://z/mcp', auth: { CLIENT_ID: 'x' } },
      },
    });
    const rest = { kind: 'remote', headerTemplates: {}, allowPrivate: true, tls: {} };
    expect(config.servers.map(({ target }) => target)).toEqual([
      { ...rest, url: 'https://x/mcp', transport: 'auto', headers: { a: 'b' } },
      { ...rest, url: 'https://y/sse', transport: 'sse', headers: {} },
      { ...rest, url: 'https://z/mcp', transport: 'auto', headers: {} },
    ]);
  });

  it('reads secrets of files again, as its own form does', () => {
    const { config } = read({
      mcpServers: {
        a: { url: 'https://x/mcp', headers: { A: '${file:/proc/sys/kernel/ostype}' } },
      },
    });
    expect(config.servers[0]?.target).toMatchObject({ headerTemplates: { a: expect.anything() } });
  });

  it.each<[string, unknown, string]>([
    [
      'a number in env',
      { a: { ...x, env: { N: 1 } } },
      '6:14: mcpServers.a.env.N: is the number 1',
    ],
    ['no command', { a: { args: [] } }, '3:5: mcpServers.a: has no command'],
    ['only disabled servers', { a: { ...x, disabled: true } }, 'has only disabled servers'],
    ['an entry that is no map', { a: 'x' }, '3:10: mcpServers.a: is "x", must be a map'],
    [
      'a mistyped key',
      { a: { comand: 'x' } },
      '4:7: mcpServers.a.comand: unknown key "comand": did you mean command?',
    ],
    [
      'a key that no host is known for',
      { a: { ...x, onlyTools: ['b'] } },
      '5:7: mcpServers.a.onlyTools: unknown key "onlyTools": no host that is known writes it',
    ],
    [
      'both command and url',
      { a: { ...x, url: 'https://x/mcp' } },
      '5:7: mcpServers.a.url: stands beside command: must be one of the two',
    ],
    [
      'a wrong URL under another name',
      { a: { serverUrl: 'ftp://x' } },
      '4:20: mcpServers.a.serverUrl: is "ftp://x", must be an http or https URL',
    ],
    [
      'two URLs',
      { a: { url: 'https://x', serverUrl: 'https://y' } },
      'serverUrl: stands beside url',
    ],
    [
      'a file of variables',
      { a: { ...x, envFile: '.env' } },
      '5:18: mcpServers.a.envFile: is not read: must be env with each variable',
    ],
    [
      'a program for headers',
      { a: { url: 'https://x', headersHelper: 'x' } },
      'mcpServers.a.headersHelper: is not run: must be headers',
    ],
    [
      'tools that are no list',
      { a: { ...x, disabledTools: 'b' } },
      '5:24: mcpServers.a.disabledTools: is "b", must be a list of globs',
    ],
    [
      'a tool that is no text',
      { a: { ...x, excludeTools: ['b', 1] } },
      '7:9: mcpServers.a.excludeTools.1: is the number 1, must be',
    ],
  ])('with %s is refused', (_, mcpServers, expected) => {
    const found = faults({ mcpServers });
    expect(found.join('\n')).toContain(expected);
    expect(found).toHaveLength(1);
  });

  it.each(['servers', 'context_servers', 'mcp_servers'])('may not have %s too', (other) => {
    const found = faults({ mcpServers: { a: x }, [other]: { a: x } });
    expect(found.join('\n')).toMatch(/stands beside \w+: must be one of the two/);
  });
});

describe('a switch', () => {
  const forms: [string, (entry: unknown) => unknown][] = [
    ['servers', (entry) => ({ servers: { on: x, off: entry } })],
    ['servers of VS Code', (entry) => ({ inputs: [], servers: { on: x, off: entry } })],
    ['mcpServers', (entry) => ({ mcpServers: { on: x, off: entry } })],
    ['context_servers', (entry) => ({ context_servers: { on: x, off: entry } })],
    ['mcp_servers', (entry) => ({ mcp_servers: { on: x, off: entry } })],
    ['mcp', (entry) => ({ mcp: { on: x, off: entry } })],
    ['mcp.servers', (entry) => ({ mcp: { servers: { on: x, off: entry } } })],
  ];

  it.each(forms)('in %s leaves the server out, whatever else is in it', (_, make) => {
    const entry = { command: 1, nonsense: true, env: { A: '${NOT_SET}' }, disabled: true };
    expect(names(make(entry))).toEqual(['on']);
    expect(names(make({ ...x, disabled: false }))).toEqual(['on', 'off']);
  });

  it.each(forms.slice(1))('in %s may be enabled or isActive', (_, make) => {
    expect(names(make({ ...x, enabled: false }))).toEqual(['on']);
    expect(names(make({ ...x, isActive: false }))).toEqual(['on']);
    expect(names(make({ ...x, enabled: true, disabled: false }))).toEqual(['on', 'off']);
    expect(faults(make({ ...x, enabled: true, disabled: true })).join()).toMatch(
      /enabled: says the opposite of disabled: must be one of the two/,
    );
  });

  it.each(forms)('in %s that is neither true nor false is refused', (_, make) => {
    for (const value of ['true', 'yes', 1, 0, null, [], {}]) {
      const found = faults(make({ ...x, disabled: value }));
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(/\.off\.disabled: is .*, must be true or false$/);
    }
  });

  it.each(forms)('in %s may come from outside', (_, make) => {
    expect(names(make({ ...x, disabled: '${YES}' }))).toEqual(['on']);
    expect(names(make({ ...x, disabled: '${NO:-false}' }))).toEqual(['on', 'off']);
  });

  it('of the own form is disabled: who writes enabled is told so', () => {
    expect(faults({ servers: { a: { ...x, enabled: false } } })).toEqual([
      '5:7: servers.a.enabled: unknown key "enabled": must be disabled: true, to leave the server out',
    ]);
  });

  it('leaves what names the server elsewhere as it is', () => {
    const { config } = read({
      auth: { keys: { file: 'k.json' }, allow: [{ servers: ['b', 'a'] }] },
      endpoints: { '/team': { servers: ['b', 'a'], shape: { b: {} } } },
      servers: { a: x, b: { ...x, disabled: true } },
    });
    expect(config.endpoints[0]?.servers).toEqual(['a']);
    const off = {
      endpoints: { '/team': { servers: ['b'] } },
      servers: { a: x, b: { ...x, disabled: true } },
    };
    expect(faults(off).join()).toMatch(
      /endpoints\."\/team"\.servers: has only disabled servers: must name at least one/,
    );
  });

  it('of Gemini CLI may be a list of names beside the servers', () => {
    const mcpServers = { a: x, b: { ...x, env: { A: '$NOT_SET' } }, c: x };
    expect(names({ mcp: { excluded: ['b'] }, mcpServers })).toEqual(['a', 'c']);
    expect(names({ mcp: { allowed: ['a'] }, mcpServers })).toEqual(['a']);
    expect(names({ excludeMCPServers: ['b', 'c'], mcpServers })).toEqual(['a']);
  });
});

describe('a name', () => {
  it.each([
    ['GitHub (work)', 'github-work'],
    ['--x--', 'x'],
    ['a_b.c', 'a-b-c'],
    ['Müller-Café', 'muller-cafe'],
    ['x'.repeat(40), 'x'.repeat(32)],
  ])('of Latin letters and digits is made to fit: %j is %j', (title, name) => {
    expect(fitName(title)).toBe(name);
  });

  it.each(['天气', 'Погода', '🚀', '!!', 'GitHub 工作', 'ß', '١٢'])(
    'of other letters has a hash of them: %j',
    (title) => {
      expect(fitName(title)).toMatch(/^(server|github|ss)(-[0-9a-f]{6})$/);
      expect(fitName(title)).toBe(fitName(title));
    },
  );

  it('keeps its hash, since paths and rules have it', () => {
    expect(fitName('天气')).toBe('server-4d9473');
  });

  it('does not depend on the order of the file, nor on which servers are off', () => {
    const titles = ['My Server', 'my_server', 'other', '天气', '文件'];
    const made = nameServers(titles);
    expect(new Set(made.values()).size).toBe(titles.length);
    expect(Object.fromEntries(nameServers(titles.toReversed()))).toEqual(Object.fromEntries(made));
    expect(made.get('other')).toBe('other');
    const one = { 'My Server': x, my_server: { ...x, disabled: true } };
    expect(names({ mcpServers: one })).toEqual([made.get('My Server')]);
  });

  it('that fits already is kept beside one that becomes the same', () => {
    const made = nameServers(['My Server', 'my-server']);
    expect(made.get('my-server')).toBe('my-server');
    expect(made.get('My Server')).toMatch(/^my-server-[0-9a-f]{6}$/);
  });

  it('is at most 32 characters long, with its hash too', () => {
    const long = 'a very long name of a server with all its words';
    for (const name of nameServers([long, `${long}!`, `${long}工`]).values()) {
      expect(name).toMatch(/^[a-z0-9][a-z0-9-]{0,31}$/);
    }
  });

  it('that became another one is told', () => {
    const { renamed } = read({ mcpServers: { a: x, 'My Server': x, 天气: x } });
    expect(renamed.map(formatIssue)).toEqual([
      '/etc/hosts.json:6:5: mcpServers."My Server": is the server my-server here',
      '/etc/hosts.json:9:5: mcpServers."天气": is the server server-4d9473 here',
    ]);
  });

  it('of the own form is not changed: the fault says what would fit', () => {
    expect(faults({ servers: { 'My Server': x } })).toEqual([
      '3:5: servers."My Server": is not a server name: must be 1 to 32 of a-z, 0-9 and -, and must not start with -, such as my-server',
    ]);
  });
});

describe('a transport', () => {
  const URL = 'https://x/mcp';
  const transportOf = (value: unknown) => {
    const { target } = read(value).config.servers[0] ?? {};
    return target?.kind === 'remote' ? target.transport : target?.kind;
  };

  it.each([
    ['type', 'http', 'auto'],
    ['transport', 'http', 'auto'],
    ['type', 'sse', 'sse'],
    ['transport', 'sse', 'sse'],
    ['type', 'streamableHttp', 'streamable-http'],
    ['type', 'streamable-http', 'streamable-http'],
    ['transport', 'streamable_http', 'streamable-http'],
    ['transport', 'streamable-http', 'streamable-http'],
    ['transportType', 'http', 'auto'],
    ['type', 'remote', 'auto'],
  ])('%s: %s is %s', (key, word, expected) => {
    expect(transportOf({ mcpServers: { a: { url: URL, [key]: word } } })).toBe(expected);
    expect(transportOf({ inputs: [], servers: { a: { url: URL, [key]: word } } })).toBe(expected);
    if (key === 'transport') {
      expect(transportOf({ servers: { a: { url: URL, [key]: word } } })).toBe(expected);
    }
  });

  it.each(['stdio', 'local', 'STDIO'])('%s is a process', (type) => {
    expect(transportOf({ mcpServers: { a: { ...x, type } } })).toBe('stdio');
    expect(transportOf({ mcpServers: { a: { ...x, transport: type } } })).toBe('stdio');
  });

  it.each<[unknown, string]>([
    [{ ...x, type: 'http' }, '5:15: mcpServers.a.type: is "http", but the server has a command'],
    [{ url: URL, type: 'stdio' }, '5:15: mcpServers.a.type: is "stdio", but the server has a url'],
    [{ url: URL, type: 'ws' }, 'mcpServers.a.type: is "ws", must be one of stdio, http'],
    [{ url: URL, transport: {} }, 'mcpServers.a.transport: is a map, must be one of stdio, http'],
    [
      { url: URL, type: 'sse', transport: 'http' },
      'mcpServers.a.transport: says otherwise than type',
    ],
  ])('%j is refused', (entry, expected) => {
    const found = faults({ mcpServers: { a: entry } });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(expected);
  });
});

describe('a variable', () => {
  const argOf = (arg: string, file = '/home/ann/web/.vscode/mcp.json') => {
    const value = { inputs: [], servers: { a: { command: 'x', args: [arg] } } };
    return processTarget(read(value, file).config.servers[0]).args[0];
  };

  it.each([
    ['${env:TOKEN}', 't0ken-value'],
    ['${TOKEN}', 't0ken-value'],
    ['${NOT:-default}', 'default'],
    ['${userHome}/x', '/home/ann/x'],
    ['${workspaceFolder}${/}src', '/home/ann/web/src'],
    ['${workspaceFolderBasename}', 'web'],
    ['$${env:TOKEN}', '${env:TOKEN}'],
    ['$TOKEN', '$TOKEN'],
    ['{env:TOKEN}', '{env:TOKEN}'],
  ])('%s becomes %s', (text, expected) => {
    expect(argOf(text)).toBe(expected);
  });

  it('of the own form is as before', () => {
    expect(faults({ servers: { a: { command: 'x', args: ['{env:TOKEN} $TOKEN'] } } })).toEqual([]);
  });

  it('that the host asks its user for is named, with what to write instead', () => {
    const value = {
      inputs: [{ id: 'api-key', type: 'promptString', description: 'The key', default: 'none' }],
      servers: {
        a: { type: 'stdio', command: 'x', env: { A: '${input:api-key}', B: '${input:2nd}' } },
      },
    };
    expect(faults(value)).toEqual([
      '15:14: servers.a.env.A: has ${input:api-key}, which VS Code asks its user for (The key), and the gateway asks nobody: write ${API_KEY:-none} and set that variable, or ${file:/path}',
      '16:14: servers.a.env.B: has ${input:2nd}, which VS Code asks its user for, and the gateway asks nobody: write ${INPUT_2ND} and set that variable, or ${file:/path}',
    ]);
  });

  it('that only the host knows is refused', () => {
    const found = faults({ inputs: [], servers: { a: { command: '${command:pick}' } } });
    expect(found).toEqual([
      '5:18: servers.a.command: has ${command:pick}, which only VS Code knows: write its value, or ${NAME}',
    ]);
  });

  it('that is not set is a fault in every spelling', () => {
    const entry = { command: 'x', trust: true, args: ['$NOT_SET', '${env:NOT_SET}'] };
    const found = faults({ mcpServers: { a: entry } });
    expect(found).toHaveLength(2);
    for (const fault of found) expect(fault).toContain('needs the environment variable NOT_SET');
    const names = { url: 'https://x', bearer_token_env_var: 'NOT_SET' };
    expect(faults({ mcp_servers: { a: names } })).toEqual([
      '5:31: mcp_servers.a.bearer_token_env_var: is "NOT_SET", must be the name of a variable of the environment that is set',
    ]);
  });

  it('as Gemini CLI writes it is passed on by the others: a warning', () => {
    expect(
      warnings({ mcpServers: { a: { command: 'x', env: { A: '$TOKEN', B: '$1' } } } }),
    ).toEqual([
      'mcpServers.a.env.A: is $TOKEN, which is passed on as it is: write ${TOKEN} for the variable',
    ]);
  });

  it('in what is the host’s own affair is not looked at', () => {
    const value = {
      theme: '${nonsense',
      mcpServers: { a: { command: 'x', description: 'uses ${NOT_SET}' } },
    };
    expect(names(value)).toEqual(['a']);
  });
});

it('what a server that is off has an anchor for is read where it is used', () => {
  const text = [
    'servers:',
    '  off: { disabled: true, command: x, env: &e { A: "${TOKEN}" } }',
    '  on: { command: x, env: *e }',
  ].join('\n');
  const { config } = read(text, '/etc/s.yaml');
  expect(config.servers.map(processTarget)).toMatchObject([{ env: { A: 't0ken-value' } }]);
});

describe('an entry of anything', () => {
  const key = fc.constantFrom(
    ...'command args env url type transport httpUrl tools includeTools disabledTools timeout'.split(
      ' ',
    ),
    ...'tool_timeout_sec env_vars env_http_headers headers http_headers auth oauth tcp source'.split(
      ' ',
    ),
    ...'disabled enabled bearer_token_env_var constructor toString hasOwnProperty length'.split(
      ' ',
    ),
  );
  const value = fc.oneof(
    fc.constantFrom(
      'x',
      '$TOKEN',
      '${env:TOKEN}',
      '${input:a}',
      '{env:TOKEN}',
      'https://x/y',
      'http',
    ),
    fc.jsonValue(),
    fc.array(fc.string()),
    fc.dictionary(fc.string(), fc.string()),
  );
  const entry = fc.dictionary(key, value);
  const file = fc.constantFrom<(servers: unknown) => unknown>(
    (mcpServers) => ({ mcpServers }),
    (servers) => ({ inputs: [], servers }),
    (servers) => ({ mcp: { servers } }),
    (mcp) => ({ mcp }),
    (context_servers) => ({ context_servers }),
    (mcp_servers) => ({ mcp_servers }),
    (servers) => ({ servers }),
  );

  it('is read or refused with a place, never anything else', () => {
    fc.assert(
      fc.property(file, fc.dictionary(fc.string(), entry), (make, servers) => {
        for (const fault of faults(make(servers))) {
          expect(fault).toMatch(/^\d+:\d+: /);
          expect(fault).not.toContain('t0ken-value');
        }
      }),
      { numRuns: runs(200) },
    );
  });

  it('with a key of every object is refused as any other', () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
      expect(faults({ mcpServers: { a: { ...x, [name]: 1 } } }).join()).toContain(
        `mcpServers.a.${name}: unknown key "${name}"`,
      );
    }
  });
});

describe('a form', () => {
  it('of VS Code’s settings, and of opencode 2, is one level deeper', () => {
    const entry = { type: 'local', command: ['x', '{env:TOKEN}'], cwd: '/d' };
    const { config } = read({ mcp: { servers: { a: entry } } });
    expect(processTarget(config.servers[0])).toMatchObject({ args: ['t0ken-value'], cwd: '/d' });
    const vscode = { mcp: { inputs: [], servers: { 'My A': { type: 'stdio', ...x } } } };
    expect(names(vscode)).toEqual(['my-a']);
  });

  it('of VS Code has no other keys than inputs: a mistyped option is a fault', () => {
    expect(faults({ inputs: [], lisen: {}, servers: { a: x } })).toEqual([
      '3:3: lisen: unknown key "lisen": did you mean listen?',
    ]);
  });

  it('of Zed names an extension that only Zed can start', () => {
    expect(
      faults({ context_servers: { a: { source: 'extension', settings: {} } } }).join(),
    ).toContain(
      'context_servers.a.source: is an extension, which only the host can start: must be custom, with a command or a url, or set enabled: false',
    );
  });

  it('of opencode has the places of its list', () => {
    expect(faults({ mcp: { a: { type: 'local', command: ['x', 1] } } })).toEqual([
      '7:9: mcp.a.command.1: is the number 1, must be text: put it in quotes',
    ]);
    expect(faults({ mcp: { a: { type: 'local', command: [] } } })[0]).toContain('mcp.a.command');
  });

  it('of Copilot CLI lists the tools that it shows', () => {
    const { config } = read({ mcpServers: { a: { type: 'local', ...x, tools: ['b'] } } });
    expect(config.catalogOptionsOf.get('a')?.tools?.allow).toEqual(['b']);
  });

  it('that has no servers says which key it misses', () => {
    expect(faults({ theme: 'x' }).join()).toContain('servers: has no server, must be a map');
    expect(faults({ mcp: {} }).join()).toContain('mcp: has no server');
    expect(faults({ mcpServers: [] }).join()).toContain('mcpServers: is a list, must be a map');
  });
});
