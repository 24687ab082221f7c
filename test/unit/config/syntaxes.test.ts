// The three syntaxes of a configuration: which one a file has, and where their faults are.
import { describe, expect, it } from 'vitest';
import { ConfigError, formatIssue } from '../../../src/config/issues.ts';
import { type LoadedConfig, loadText } from '../../../src/config/load.ts';
import { processTarget } from '../../support/process-target.ts';

function read(file: string, text: string): LoadedConfig {
  return loadText(file, text, { HOME: '/home/ann', TOKEN: 't0ken' }, `/etc/sluice/${file}`);
}

/** What is wrong, as `line:col: path: message`. */
function faults(file: string, text: string): string[] {
  try {
    read(file, text);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map((issue) => formatIssue(issue).replace(`${file}:`, ''));
  }
  return [];
}

/** Each server with its arguments. */
function servers(file: string, text: string): [string, readonly string[]][] {
  return read(file, text).config.servers.map((server) => [server.name, processTarget(server).args]);
}

describe('JSON', () => {
  it.each(['mcp.json', 'mcp.jsonc', 'MCP.JSON', 'mcp', 'mcp.yaml'])(
    'in %s may have comments: a server in one is not started',
    (file) => {
      const text = `{"mcpServers":{
        // "danger": {"command":"node","args":["srv.mjs"]},
        "good":{"command":"node","args":["srv.mjs"]}}}`;
      expect(servers(file, text)).toEqual([['good', ['srv.mjs']]]);
    },
  );

  it('has the same servers wherever comments stand', () => {
    const text = `// first
      /* a
         second */ { // third
      // before the key
      "mcpServers": { /* before a name */ "a": {
        "command": "x", // before args
        // and again
        "args": [ // inside
          /* one */ "1", // "2"
          "3", // last
        ],
      },
      "off": { "command": "x", /* note */ "disabled": true },
      }, /* end */ } // over`;
    expect(servers('mcp.json', text)).toEqual([['a', ['1', '3']]]);
  });

  it('keeps what looks like a comment inside a text', () => {
    const text = '{"servers":{"a":{"command":"x","args":["http://a/*b*/","a // b","#c",]}}}';
    expect(servers('s.json', text)).toEqual([['a', ['http://a/*b*/', 'a // b', '#c']]]);
  });

  it('has the escapes of JSON, tabs and a byte order mark', () => {
    const text =
      '\uFEFF{\n\t"servers": { "a": { "command": "x", "args": ["\\ud83d\\ude00\\/\\n"] } }\n}';
    expect(servers('s.json', text)).toEqual([['a', ['\u{1f600}/\n']]]);
    expect(servers('s.yaml', text)).toEqual([['a', ['\u{1f600}/\n']]]);
  });

  it.each(['$schema', '"$schema"'])('and YAML may name their schema: %s', (key) => {
    expect(servers('s.json', '{"$schema":"x.json","servers":{"a":{"command":"x"}}}')).toHaveLength(
      1,
    );
    expect(servers('s.yaml', `${key}: x.json\nservers: { a: { command: x } }`)).toHaveLength(1);
  });

  it('has the places of its faults, comments counted', () => {
    const text = `{
  // a comment
  "listen": { "prot": 80 }, /* one
  more */ "drain": 30,
  "servers": { "a": { "command": "cat", "args": ["\${TOKEN}", 1] } }
}`;
    expect(faults('s.json', text)).toEqual([
      '3:15: listen.prot: unknown key "prot": did you mean port?',
      '4:20: drain: is the number 30, must be a duration such as 250ms, 30s, 5m or 2h, at most 596h',
      '5:62: servers.a.args.1: is the number 1, must be text: put it in quotes',
    ]);
  });

  it('takes the type of an option for a value from outside', () => {
    const text = '{"listen":{"port":"${PORT:-8099}"},"servers":{"a":{"command":"x"}}}';
    expect(read('s.json', text).config.listen.port).toBe(8099);
  });

  it.each([
    ['{"a":1 "b":2}', '1:8: is not valid JSON: a comma is missing here'],
    ['{"a" 1}', '1:6: is not valid JSON: a colon is missing here'],
    ['{"a":}', '1:6: is not valid JSON: a value is missing here'],
    ['{"a":1', '1:7: is not valid JSON: a } is missing here'],
    ['{"a":[1', '1:8: is not valid JSON: a ] is missing here'],
    ['{"a":1}}', '1:8: is not valid JSON: nothing may follow the last }'],
    ['{"a":1,,}', '1:8: is not valid JSON: a key in double quotes is missing here'],
    ["{'a':1}", '1:2: is not valid JSON: a is no JSON value: put text and keys in double quotes'],
    ['{a:1}', '1:2: is not valid JSON: a is no JSON value: put text and keys in double quotes'],
    ['{"a":True}', '1:6: is not valid JSON: True is no JSON value: put text'],
    ['{"a":"x\n"}', '1:6: is not valid JSON: this text has no closing double quote in its line'],
    ['{"a":"C:\\x"}', '1:6: is not valid JSON: a backslash in this text starts no escape'],
    ['{"a":"\\u12"}', '1:6: is not valid JSON: a \\u in this text needs four'],
    ['{} /* x', '1:4: is not valid JSON: this comment has no end: close it with */'],
    ['{} # x', '1:4: is not valid JSON: '],
    ['', '1:1: is not valid JSON: a value is missing here'],
    ['{\n"a":{},\n"a":{}}', '3:1: the key "a" is in this map twice: remove one'],
    ['{"__proto__":{}}', '1:2: unknown key "__proto__": remove it'],
    ['[]', '1:1: the file is a list, must be a map with servers'],
  ])('%j is refused with its place', (text, expected) => {
    expect(faults('s.json', text).find((fault) => fault.startsWith(expected))).toBeDefined();
  });

  it('says why a file of another name is read as JSON', () => {
    expect(faults('s.yaml', '{ servers: { a: { command: x } } }')).toEqual([
      '1:3: is not valid JSON: servers is no JSON value: put text and keys in double quotes (a file that starts with { is read as JSON)',
    ]);
  });

  it('tells of faults in several lines at once', () => {
    const text =
      '{"servers": {\n"a": {"command": "x" "args": []},\n"b": {"command": "x" "args": []}}}';
    expect(faults('s.json', text)).toEqual([
      '2:22: is not valid JSON: a comma is missing here',
      '3:22: is not valid JSON: a comma is missing here',
    ]);
  });

  it('that is nested too deeply is refused', () => {
    const text = '{"a":'.repeat(100_000);
    expect(() => read('s.json', text)).toThrow(RangeError);
  });
});

describe('TOML', () => {
  it('in a file of that name is read', () => {
    const text = `
      [listen]
      port = 8099
      [servers.a]
      command = "x" # a comment
      args = ["1", '''2''']
      env.A = "b"
      timeouts = { start = "1s" }
      [servers.b]
      command = "y"
      [[servers.b.roots]]
      uri = "file:///1"
      [[servers.b.roots]]
      uri = "file:///2"
    `;
    const { config } = read('s.toml', text);
    expect(config.listen.port).toBe(8099);
    expect(config.servers).toMatchObject([
      {
        name: 'a',
        target: { command: 'x', args: ['1', '2'], env: { A: 'b' } },
        timeouts: { start: 1000 },
      },
      { name: 'b', roots: [{ uri: 'file:///1' }, { uri: 'file:///2' }] },
    ]);
  });

  it.each([
    [
      '[servers.a]\ncomand = "x"',
      '2:1: servers.a.comand: unknown key "comand": did you mean command',
    ],
    ['[servers.a]\ncommand = "x"\nargs = ["1", 2]', '3:14: servers.a.args.1: is the number 2'],
    ['drain = 2020-01-01\n[servers.a]\ncommand = "x"', '1:9: drain: is "2020-01-01", must be a'],
    ['[servers.a]\ncommand = ', '2:11: is not valid TOML: unspecified values are invalid'],
    [
      '[servers.a]\ncommand = "x"\ncommand = "y"',
      '3:1: is not valid TOML: defining a key multiple',
    ],
    ['[servers.a]\ncommand = "x', '2:13: is not valid TOML: unterminated string'],
    ['listen.port = 1\nlisten.prot = 2', '2:8: listen.prot: unknown key "prot"'],
  ])('%j is refused with its place', (text, expected) => {
    expect(faults('s.toml', text).find((fault) => fault.startsWith(expected))).toBeDefined();
  });
});
