// The whole way from text to Config: shapes, defaults, positions, refusals.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, formatIssue } from '../../../src/config/issues.ts';
import { type LoadedConfig, load, loadText } from '../../../src/config/load.ts';
import { processTarget } from '../../support/process-target.ts';
import { runs } from '../../support/runs.ts';

const repository = resolve(import.meta.dirname, '../../..');

function read(text: string, environment: Record<string, string> = {}): LoadedConfig {
  return loadText('/etc/sluice/s.yaml', text, environment);
}

/** What is wrong, as `line:col: path: message`. */
function faults(text: string, environment: Record<string, string> = {}): string[] {
  try {
    read(text, environment);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.issues.map((issue) => formatIssue(issue).replace('/etc/sluice/s.yaml:', ''));
    }
    throw error;
  }
  return [];
}

const SERVER = 'servers:\n  a: { command: cat }\n';

describe('shipped files', () => {
  it.each(['config/sluice.yaml', 'config/sluice.example.yaml'])('%s loads', (file) => {
    const { config, warnings } = load(join(repository, file), {});
    expect(config.servers.length).toBeGreaterThan(0);
    expect(warnings).toEqual([]);
  });

  it('serves three servers by absolute paths', () => {
    const { config } = load('config/sluice.yaml', { TMPDIR: '/scratch' }, repository);
    expect(config.file).toBe(join(repository, 'config/sluice.yaml'));
    expect(config.servers.map((server) => [server.name, processTarget(server).command])).toEqual([
      ['everything', join(repository, 'node_modules/.bin/mcp-server-everything')],
      ['files', join(repository, 'node_modules/.bin/mcp-server-filesystem')],
      ['memory', join(repository, 'node_modules/.bin/mcp-server-memory')],
    ]);
    expect(processTarget(config.servers[2]).env['MEMORY_FILE_PATH']).toBe(
      '/scratch/sluice-memory.jsonl',
    );
  });
});

describe('a configuration', () => {
  it('has a default for everything but the servers', () => {
    const { config } = read(SERVER);
    expect(config).toEqual({
      file: '/etc/sluice/s.yaml',
      listen: {
        host: '127.0.0.1',
        port: 8080,
        allowUnauthenticated: false,
        allowedHosts: [],
        allowedOrigins: [],
        maxBody: 4 * 1024 ** 2,
        publicUrl: undefined,
        tls: undefined,
        tlsTerminatedUpstream: false,
        trustedProxies: [],
        maxConnectionsPerAddress: 1_000,
      },
      admin: { host: '127.0.0.1', port: 9464, allowRemote: false, socket: undefined },
      log: { level: 'info', messages: false },
      audit: { to: undefined, required: false },
      sessions: {
        idle: 1_800_000,
        maxAge: 86_400_000,
        max: 10_000,
        maxPerPrincipal: 50,
        maxInFlight: 64,
        keys: [],
      },
      limits: {
        requestsPerSecond: 0,
        addressRequestsPerSecond: 0,
        callsPerPrincipal: 256,
        streamsPerPrincipal: 100,
        failedLoginsPerMinute: 30,
        heldBytes: undefined,
        bodyBytes: undefined,
      },
      auth: undefined,
      processes: { max: 64, maxPerPrincipal: 8, maxStarting: 4 },
      state: { keys: [], ttl: 600_000 },
      data: undefined,
      drain: 25_000,
      reload: { watch: true },
      catalogOptionsOf: new Map([['a', { pin: 'off', validateArguments: 'off' }]]),
      endpoints: [],
      servers: [
        {
          name: 'a',
          protocol: 'mcp',
          target: {
            kind: 'stdio',
            framing: 'newline',
            command: 'cat',
            args: [],
            env: {},
            envTemplates: {},
            inheritEnv: [],
            cwd: '/etc/sluice',
            wrap: [],
            resources: {},
          },
          sharing: 'shared',
          replicas: 1,
          start: 'eager',
          roots: [],
          era: 'auto',
          timeouts: {
            start: 30_000,
            request: 60_000,
            requestMax: 600_000,
            queue: 5000,
            stop: 5000,
          },
          limits: { inFlight: 256, queue: 256, message: 16 * 1024 ** 2 },
        },
      ],
    });
    expect(Object.isFrozen(config.servers[0]?.timeouts)).toBe(true);
  });

  it('may have remote servers', () => {
    const { config } = read(
      'servers: { a: { url: "https://x/mcp", headers: { Authorization: Bearer x }, era: modern } }',
    );
    expect(config.servers[0]).toMatchObject({
      name: 'a',
      protocol: 'mcp',
      target: {
        kind: 'remote',
        url: 'https://x/mcp',
        transport: 'auto',
        headers: { authorization: 'Bearer x' },
      },
      sharing: 'shared',
      era: 'modern',
    });
  });

  it('may be JSON, with tabs', () => {
    const { config } = read('{\n\t"servers": {\n\t\t"a": { "command": "cat" }\n\t}\n}');
    expect(config.servers[0]?.name).toBe('a');
  });

  it('keeps YAML 1.2 types: yes and on are texts', () => {
    const { config } = read('servers: { a: { command: cat, args: [yes, on, "012"] } }');
    expect(processTarget(config.servers[0]).args).toEqual(['yes', 'on', '012']);
  });

  it('resolves relative paths against its folder and leaves programs to PATH', () => {
    const { config } = read('servers: { a: { command: ./bin/x, cwd: ../y }, b: { command: npx } }');
    expect(config.servers.map(processTarget).map(({ command, cwd }) => [command, cwd])).toEqual([
      ['/etc/sluice/bin/x', '/etc/y'],
      ['npx', '/etc/sluice'],
    ]);
  });

  it('gives a jsonrpc server a process for each session', () => {
    const text = 'servers: { a: { command: x, protocol: jsonrpc, framing: content-length } }';
    expect(read(text).config.servers[0]).toMatchObject({ sharing: 'session', protocol: 'jsonrpc' });
  });

  it('may use a few aliases', () => {
    const { config } = read('servers:\n  a: &a { command: cat }\n  b: *a\n');
    expect(config.servers.map((server) => server.name)).toEqual(['a', 'b']);
  });

  it('warns about an open host that was allowed', () => {
    const text = `listen: { host: 0.0.0.0, allowUnauthenticated: true }\nadmin: { host: "::", allowRemote: true }\n${SERVER}`;
    expect(read(text).warnings.map((warning) => warning.path)).toEqual([
      'listen.host',
      'admin.host',
    ]);
  });
});

describe('a fault', () => {
  it('names line, column, key and what would be right, all faults in one run', () => {
    const text = [
      'listen:',
      '  prot: 80',
      '  maxBody: 4MB',
      'admin:',
      'drain: 30',
      'log: { level: lots }',
      'servers:',
      '  a:',
      '    command: cat',
      '    args: [1]',
      '    env: { N: 3 }',
      '    timeouts: { start: 1x }',
    ].join('\n');
    expect(faults(text)).toEqual([
      '2:3: listen.prot: unknown key "prot": did you mean port?',
      '3:12: listen.maxBody: is "4MB", must be a size such as 64KiB or 4MiB, from 1KiB to 256MiB',
      '4:7: admin: is empty, must be a map of options',
      '5:8: drain: is the number 30, must be a duration such as 250ms, 30s, 5m or 2h, at most 596h',
      '6:15: log.level: is "lots", must be one of trace, debug, info, warn, error, fatal',
      '10:12: servers.a.args.0: is the number 1, must be text: put it in quotes',
      '11:15: servers.a.env.N: is the number 3, must be text: put it in quotes',
      '12:24: servers.a.timeouts.start: is "1x", must be a duration such as 250ms, 30s, 5m or 2h, at least 1ms, at most 596h',
    ]);
  });

  it.each<[string, string, string]>([
    [
      'a far unknown key',
      `zzz: 1\n${SERVER}`,
      '1:1: zzz: unknown key "zzz": must be one of listen,',
    ],
    [
      'a mistyped command',
      'servers:\n  a:\n    comand: x',
      '3:5: servers.a.comand: unknown key "comand": did you mean command?',
    ],
    ['no command', 'servers:\n  a: {}', '2:3: servers.a: has no command: must have command'],
    ['no server', 'listen: {}', '1:1: servers: has no server, must be a map'],
    ['an empty map of servers', 'servers: {}', '1:10: servers: has no server'],
    ['a list of servers', 'servers: [a]', '1:10: servers: is a list, must be a map'],
    ['a bad name', 'servers:\n  Files: { command: x }', '2:3: servers.Files: is not a server name'],
    ['an empty file', '', '1:1: the file is empty, must be a map with servers'],
    ['a scalar', 'hello', '1:1: the file is "hello", must be a map'],
    [
      'a duplicate key',
      'servers:\n  a: { command: x }\n  a: { command: y }',
      '3:3: the key "a" is in this map twice',
    ],
    ['a tab as indentation', 'servers:\n\ta: 1', '2:1: is not valid YAML: '],
    [
      'replicas of a private server',
      'servers: { a: { command: x, sharing: session, replicas: 2 } }',
      '1:57: servers.a.replicas: needs sharing: shared',
    ],
    [
      'replicas of a jsonrpc server',
      'servers: { a: { command: x, protocol: jsonrpc, replicas: 2 } }',
      '1:58: servers.a.replicas: needs sharing: shared',
    ],
    [
      'content-length with mcp',
      'servers: { a: { command: x, framing: content-length } }',
      '1:38: servers.a.framing: `content-length` needs protocol: jsonrpc',
    ],
    [
      'a call longer than its maximum',
      'servers: { a: { command: x, timeouts: { request: 20m } } }',
      '1:50: servers.a.timeouts.request: is longer than requestMax',
    ],
    [
      'NUL in a command',
      'servers: { a: { command: "x\\0" } }',
      '1:26: servers.a.command: is "x\\u0000", must be text without a NUL character',
    ],
    [
      'NUL in an argument',
      'servers: { a: { command: x, args: ["\\0"] } }',
      '1:36: servers.a.args.0: is "\\u0000", must be text without a NUL',
    ],
    [
      'an empty command',
      'servers: { a: { command: "" } }',
      '1:26: servers.a.command: is empty, must be a command',
    ],
    [
      'an empty environment value',
      'servers: { a: { command: x, env: { N: } } }',
      '1:39: servers.a.env.N: is empty, must be text: put it in quotes',
    ],
    [
      'a URL that is none',
      'servers: { a: { url: "ftp://x/mcp" } }',
      '1:22: servers.a.url: is "ftp://x/mcp", must be an http or https URL',
    ],
    [
      'a password in a URL',
      'servers: { a: { url: "https://u:p@x/mcp" } }',
      'must be an http or https URL without user name',
    ],
    [
      'a header of the transport',
      'servers: { a: { url: "https://x/mcp", headers: { Mcp-Session-Id: x } } }',
      '1:48: servers.a.headers: is a map, must have only names of headers that the transport does not set',
    ],
    [
      'a header of two lines',
      'servers: { a: { url: "https://x/mcp", headers: { A: "b\\nc" } } }',
      '1:48: servers.a.headers: is a map, must have only values of one line',
    ],
    [
      'a working folder of a remote server',
      'servers: { a: { url: "https://x/mcp", cwd: / } }',
      '1:39: servers.a.cwd: ',
    ],
    [
      'replicas of a private remote server',
      'servers: { a: { url: "https://x/mcp", sharing: session, replicas: 2 } }',
      'servers.a.replicas: needs sharing: shared',
    ],
    [
      'command and url',
      'servers: { a: { url: "https://x/mcp", command: x } }',
      '1:17: servers.a.url: stands beside command',
    ],
    [
      'pins for a server that is not MCP',
      'servers: { a: { command: x, protocol: jsonrpc, pin: warn } }',
      'servers.a.pin: is about MCP',
    ],
    [
      'an endpoint that merges a server that is not MCP',
      'endpoints: { /team: { servers: [a] } }\nservers: { a: { command: x, protocol: jsonrpc } }',
      'endpoints."/team".servers.0: speaks plain JSON-RPC',
    ],
    [
      'an endpoint for a server that does not exist',
      `endpoints: { /team: { servers: [b] } }\n${SERVER}`,
      'endpoints."/team".servers.0: is no server: must be one of',
    ],
    [
      'an endpoint without servers',
      `endpoints: { /team: { servers: [] } }\n${SERVER}`,
      'endpoints."/team".servers: is empty',
    ],
    [
      'an endpoint where something else is',
      `endpoints: { /servers/x: {} }\n${SERVER}`,
      'endpoints."/servers/x": is served already',
    ],
    [
      'an endpoint that is no path',
      `endpoints: { team: {} }\n${SERVER}`,
      'endpoints.team: must be a path such as /team',
    ],
    [
      'a shape for a server that the endpoint does not show',
      `endpoints: { /team: { shape: { b: {} } } }\n${SERVER}`,
      'endpoints."/team".shape.b: is no server of this endpoint',
    ],
    [
      'an open host',
      `listen: { host: 0.0.0.0 }\n${SERVER}`,
      '1:17: listen.host: is reachable from other machines and no authentication is configured: must be a loopback address such as 127.0.0.1, or set listen.allowUnauthenticated: true',
    ],
    [
      'an open admin host',
      `admin: { host: 10.0.0.1 }\n${SERVER}`,
      '1:16: admin.host: is reachable from other machines: must be a loopback address such as 127.0.0.1, or set admin.allowRemote: true',
    ],
    [
      'one port twice',
      `listen: { port: 9464 }\n${SERVER}`,
      '1:1: admin.port: is the port of the public listener too',
    ],
    [
      'less held than two messages',
      `limits: { heldBytes: 7MiB }\n${SERVER}`,
      '1:22: limits.heldBytes: is less than two messages of listen.maxBody: must be at least twice as much',
    ],
    [
      'a port with a fraction',
      `listen: { port: 80.5 }\n${SERVER}`,
      '1:17: listen.port: is the number 80.5, must be a whole number',
    ],
    [
      'an origin with a path',
      `listen: { allowedOrigins: ["https://a/b"] }\n${SERVER}`,
      '1:28: listen.allowedOrigins.0: is "https://a/b", must be an origin',
    ],
    [
      'a public URL with a password',
      `listen: { publicUrl: "https://u:p@a" }\n${SERVER}`,
      '1:22: listen.publicUrl: is "https://u:p@a", must be an http or https URL without user',
    ],
    ['__proto__', `${SERVER}__proto__: { polluted: 1 }`, '3:1: unknown key "__proto__": remove it'],
    [
      'a merge key',
      'servers: { a: { command: x, <<: { command: y } } }',
      '1:29: servers.a."<<": unknown key "<<"',
    ],
    ['a key that is a map', `? {a: b}\n: c\n${SERVER}`, '1:3: has a key that is not a word'],
    ['an alias of its own parent', 'servers: &s { a: *s }', ''],
  ])('%s is refused', (_, text, expected) => {
    const found = faults(text);
    expect(found.length).toBeGreaterThan(0);
    expect(found.join('\n')).toContain(expected);
  });

  it.each(['::', '192.168.1.1', 'example.com', '0', '127.1', '', '0.0.0.0', '::ffff:10.0.0.1'])(
    'the host %j needs an explicit permission',
    (host) => {
      expect(faults(`listen: { host: "${host}" }\n${SERVER}`).join()).toContain('listen.host');
    },
  );

  it.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost', '::ffff:127.0.0.1'])(
    'the host %j needs none',
    (host) => {
      expect(faults(`listen: { host: "${host}" }\n${SERVER}`)).toEqual([]);
    },
  );

  it('does not write control characters of the file to the terminal', () => {
    expect(faults(`"\\e[31m": 1\n${SERVER}`).join()).not.toContain('\u001b');
  });
});

describe('C14 hostile files', () => {
  it('leave no trace in Object.prototype', () => {
    faults(
      '__proto__: { polluted: 1 }\nservers: { a: { command: x, env: { __proto__: { polluted: 1 } } } }',
    );
    faults('constructor: { prototype: { polluted: 1 } }');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('with multiplying aliases are refused', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 9; level += 1) {
      const item = `*a${level - 1}`;
      lines.push(`a${level}: &a${level} [${Array.from({ length: 9 }, () => item).join(', ')}]`);
    }
    expect(faults(lines.join('\n')).join()).toContain('aliases that multiply');
  });

  describe('on disk', () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
    });
    afterAll(() => {
      rmSync(folder, { recursive: true });
    });

    it.each<[string, string | Uint8Array, string]>([
      ['20,000 levels', '['.repeat(20_000), ''],
      ['20,000 sequences', '- '.repeat(20_000), ''],
      ['more than 1 MiB', ' '.repeat(1024 * 1024 + 1), 'larger than 1024 KiB'],
      ['bytes that are not UTF-8', new Uint8Array([0x61, 0xff, 0x62]), 'is not UTF-8 text'],
    ])('with %s are refused', (_, content, expected) => {
      const file = join(folder, 'hostile.yaml');
      writeFileSync(file, content);
      let message = '';
      try {
        load(file, {});
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        message = String(error);
      }
      expect(message).toContain('hostile.yaml:1:');
      expect(message).toContain(expected);
    });

    it('that are missing or folders are named', () => {
      expect(() => load('nope.yaml', {}, folder)).toThrow(/^nope.yaml:1:1: .*no such file/);
      expect(() => load(folder, {})).toThrow(/it is a folder/);
    });
  });

  it('of random content never crash the loader', () => {
    const word = fc.constantFrom(
      'servers',
      'mcpServers',
      'a',
      'command',
      'listen',
      'port',
      '${X}',
      '&a',
      '*a',
      '<<',
      '__proto__',
      'null',
      '1',
      '- ',
      ': ',
      '\n',
      '  ',
      '{',
      '}',
      '[',
      ']',
      '"',
      '#',
      '!!x',
      '|',
      '?',
      ',',
      '\t',
      '\0',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(word, { maxLength: 40 }).map((words) => words.join('')),
    );
    fc.assert(fc.property(text, survives), { numRuns: runs(1000) });
  });

  it('of random structure never crash the loader', () => {
    const keys = fc.constantFrom(
      'servers',
      'mcpServers',
      'listen',
      'admin',
      'env',
      'args',
      'command',
      'url',
      'host',
      'port',
      'timeouts',
      'auth',
      'endpoints',
      'constructor',
      'toString',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, 1, -1.5, '', '${A}', '${B:-c}', '1s', 'cat'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(keys, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => survives(JSON.stringify(value))),
      { numRuns: runs(1000) },
    );
  });
});

function survives(text: string): void {
  for (const fault of faults(text, { A: 'secret-value' })) {
    expect(fault).toMatch(/^\d+:\d+: /);
    expect(fault).not.toContain('secret-value');
  }
}
