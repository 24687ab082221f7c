// What clients see of a server's tools and prompts.
import { describe, expect, it } from 'vitest';
import { finished } from '../../../src/base/steps.ts';
import { withArguments } from '../../../src/catalog/arguments.ts';
import {
  type ArgumentRule,
  argumentRules,
  NameShaping,
  shapedPrompt,
  shapedTool,
  toolLimits,
} from '../../../src/catalog/shaping.ts';
import type { ToolOverride } from '../../../src/catalog/shaping-options.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';

function fixed(value: unknown): { kind: 'value'; text: string } {
  return { kind: 'value', text: JSON.stringify(value) };
}

function byDefault(value: unknown): { kind: 'default'; text: string } {
  return { kind: 'default', text: JSON.stringify(value) };
}

describe('names', () => {
  const own = ['read', 'write', 'list', 'constructor'];

  it('are untouched when nothing is said', () => {
    for (const levels of [[], [undefined, undefined], [{}]]) {
      const { shown, conflicting } = finished(new NameShaping(levels).names(own));
      expect([...shown]).toEqual(own.map((name) => [name, name]));
      expect(conflicting).toEqual([]);
    }
  });

  it('are hidden, and renamed behind that', () => {
    const shaping = new NameShaping([
      { allow: ['read', 'w*', 'list'], deny: ['list'], rename: { read: 'get', list: 'ls' } },
    ]);
    expect([...finished(shaping.names(own)).shown]).toEqual([
      ['read', 'get'],
      ['write', 'write'],
    ]);
  });

  it("are those of the server's entry to an endpoint", () => {
    const shaping = new NameShaping([
      { rename: { read: 'get' }, overrides: { read: { title: 'one' }, get: { title: 'no' } } },
      {
        deny: ['read', 'write'],
        rename: { get: 'fetch' },
        overrides: { get: { title: 'two' }, fetch: { title: 'no' } },
      },
    ]);
    expect([...finished(shaping.names(own)).shown]).toEqual([
      ['read', 'fetch'],
      ['list', 'list'],
      ['constructor', 'constructor'],
    ]);
    expect(shaping.overrides('read')).toEqual([{ title: 'one' }, { title: 'two' }]);
    expect(shaping.overrides('constructor')).toEqual([]);
  });

  it('can change places', () => {
    const shaping = new NameShaping([{ rename: { read: 'write', write: 'read' } }]);
    expect([...finished(shaping.names(['read', 'write'])).shown]).toEqual([
      ['read', 'write'],
      ['write', 'read'],
    ]);
  });

  it('that something else is renamed to are hidden, and told', () => {
    const { shown, conflicting } = finished(
      new NameShaping([{ rename: { read: 'write' } }]).names(own),
    );
    expect(shown.get('read')).toBe('write');
    expect(shown.has('write')).toBe(false);
    expect(conflicting).toEqual([{ name: 'write', by: 'read' }]);
  });
});

describe('the entry of a tool', () => {
  const entry = Buffer.from(
    '{"name":"read", "x-n":9007199254740993, "description":"old","annotations":{ "readOnlyHint":false,"x":1.0},' +
      '"inputSchema":{"type":"object","properties":{"path":{"type":"string"}, "limit":{"maximum":1E2}},"required":[ "path","limit"],"x":-0}}',
  );

  it('is itself when nothing is said', () => {
    expect(shapedTool(entry, [])).toBe(entry);
    expect(shapedTool(entry, [{}, { timeout: 5 }])).toBe(entry);
  });

  it('has new words where the old ones stood, and all other values as they were', () => {
    const text = shapedTool(entry, [
      { title: 'Read', description: 'new', annotations: { readOnlyHint: true, title: 'R' } },
      { description: 'newer' },
    ]).toString();
    expect(text).toBe(
      '{"name":"read","x-n":9007199254740993,"description":"newer",' +
        '"annotations":{"readOnlyHint":true,"x":1.0,"title":"R"},' +
        '"inputSchema":{"type":"object","properties":{"path":{"type":"string"}, "limit":{"maximum":1E2}},"required":[ "path","limit"],"x":-0},"title":"Read"}',
    );
  });

  it('has no arguments that clients do not see', () => {
    const one = shapedTool(entry, [{ arguments: { path: { value: '/data' } } }]).toString();
    expect(one).toContain('"properties":{"limit":{"maximum":1E2}},"required":["limit"],"x":-0}');
    const both = shapedTool(entry, [
      { arguments: { path: { value: '/data' } } },
      { arguments: { limit: { default: 1 }, none: { value: 0 } } },
    ]);
    expect(both.toString()).toContain('"inputSchema":{"type":"object","properties":{},"x":-0}');
  });

  it('may be odd', () => {
    const overrides: ToolOverride[] = [
      { annotations: { readOnlyHint: true }, arguments: { a: { value: 1 } } },
    ];
    for (const odd of [
      '{"name":"a"}',
      '{"name":"a","annotations":null,"inputSchema":[]}',
      '{"name":"a","inputSchema":{"properties":[],"required":{}}}',
      '{"name":"a","inputSchema":{"required":[1,"b"]}}',
    ]) {
      const shaped = JSON.parse(shapedTool(Buffer.from(odd), overrides).toString()) as object;
      expect(shaped).toEqual({
        ...(JSON.parse(odd) as object),
        annotations: { readOnlyHint: true },
      });
    }
  });

  it('keeps one of members that stand twice', () => {
    const twice = Buffer.from('{"title":"a","title":"b"}');
    expect(shapedTool(twice, [{ title: 'c' }]).toString()).toBe('{"title":"c"}');
  });
});

it('the entry of a prompt has new words', () => {
  const entry = Buffer.from('{"name":"p","description":"old"}');
  expect(shapedPrompt(entry, [])).toBe(entry);
  expect(shapedPrompt(entry, [{ description: 'new "words"' }]).toString()).toBe(
    '{"name":"p","description":"new \\"words\\""}',
  );
});

describe('limits of a tool', () => {
  it('are those of the endpoint, but no more calls than the server allows', () => {
    expect(toolLimits([])).toEqual({ timeoutMs: undefined, concurrency: undefined });
    expect(
      toolLimits([
        { timeout: 5, concurrency: 2 },
        { timeout: 9, concurrency: 4 },
      ]),
    ).toEqual({ timeoutMs: 9, concurrency: 2 });
    expect(toolLimits([{ timeout: 5 }, { concurrency: 4 }])).toEqual({
      timeoutMs: 5,
      concurrency: 4,
    });
  });
});

describe('rules of arguments', () => {
  it("of a server can't be undone by an endpoint", () => {
    const rules = argumentRules([
      { arguments: { a: { value: 1 }, b: { default: 1 }, c: { default: 1 } } },
      { arguments: { a: { value: 2 }, b: { default: 2 }, c: { value: 2 }, d: { value: 2 } } },
    ]);
    expect(Object.fromEntries(rules)).toEqual({
      a: fixed(1),
      b: byDefault(2),
      c: fixed(2),
      d: fixed(2),
    });
  });
});

describe('a call', () => {
  const rules = new Map<string, ArgumentRule>([
    ['path', fixed('/data')],
    ['limit', byDefault(10)],
  ]);

  function shaped(params: string): string | undefined {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const frame = withArguments(scan(Buffer.from(text)), rules);
    if (frame === undefined) return undefined;
    expect(frame.kind).toBe('request');
    expect(frame.idBytes?.toString()).toBe('1');
    return frame.bytes.toString('utf8', frame.paramsStart, frame.paramsEnd);
  }

  it.each([
    [
      'gets fixed arguments and defaults, and keeps the bytes of the others',
      '{"name":"t","arguments":{"n":9007199254740993, "u":"\\u00e9"},"_meta":{"x":1.0}}',
      '{"name":"t","_meta":{"x":1.0},"arguments":{"n":9007199254740993,"u":"\\u00e9","path":"/data","limit":10}}',
    ],
    [
      'keeps what it sends for a default, null too',
      '{"name":"t","arguments":{"limit":null}}',
      '{"name":"t","arguments":{"limit":null,"path":"/data"}}',
    ],
    [
      "can't send a fixed argument, in no spelling and no second time",
      '{"name":"t","arguments":{"path":"/a","p\\u0061th":"/b","limit":1}}',
      '{"name":"t","arguments":{"limit":1,"path":"/data"}}',
    ],
    [
      'may have no arguments',
      '{"name":"t"}',
      '{"name":"t","arguments":{"path":"/data","limit":10}}',
    ],
    [
      'may have null',
      '{"name":"t","arguments":null}',
      '{"name":"t","arguments":{"path":"/data","limit":10}}',
    ],
    [
      'has one object of arguments behind it',
      '{"arguments":{"a":1},"name":"t","arguments":{"b":1}}',
      '{"name":"t","arguments":{"b":1,"path":"/data","limit":10}}',
    ],
  ])('%s', (_, sent, received) => {
    expect(shaped(sent)).toBe(received);
  });

  it('is refused when nothing can be fixed in it', () => {
    expect(shaped('{"name":"t","arguments":[]}')).toBeUndefined();
    expect(shaped('{"name":"t","arguments":"{}"}')).toBeUndefined();
  });

  it('is itself when nothing changes', () => {
    const text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":1}}}';
    const frame = scan(Buffer.from(text));
    expect(withArguments(frame, new Map())).toBe(frame);
    expect(withArguments(frame, new Map([['a', byDefault(2)]]))).toBe(frame);
  });
});
