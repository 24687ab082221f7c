// The three tools of an endpoint with a search: their definitions, arguments and results.
import { describe, expect, it } from 'vitest';
import {
  describedResult,
  foundResult,
  problemResult,
  unknownTool,
} from '../../../../src/catalog/search/search-results.ts';
import {
  CALL_TOOL,
  DESCRIBE_TOOL,
  FIND_TOOLS,
  readDescribe,
  readFind,
  SEARCH_TOOLS,
  unwrapCall,
} from '../../../../src/catalog/search/search-tools.ts';
import type { SearchableTool } from '../../../../src/catalog/search/tool-search.ts';
import { compileSchema } from '../../../../src/catalog/validation/compile-schema.ts';

function errorsOf(tool: string, schema: 'inputSchema' | 'outputSchema', value: unknown): unknown {
  const text = SEARCH_TOOLS.find(({ name }) => name === tool)?.text.toString() ?? '';
  const compiled = compileSchema(Buffer.from(JSON.stringify(JSON.parse(text)[schema])));
  if ('unusable' in compiled) throw new Error(compiled.unusable);
  return compiled.check(value);
}

function unwrap(params: string): { name?: string; params?: string; problem?: string } {
  const call = unwrapCall(Buffer.from(params));
  return 'problem' in call ? call : { name: call.name, params: call.params.toString() };
}

function found(...tools: Partial<SearchableTool>[]) {
  const whole = tools.map((tool) => ({
    name: 'a__b',
    title: '',
    description: '',
    argumentNames: [],
    server: 'a',
    ...tool,
  }));
  return { tools: whole, matches: whole.length };
}

function textOf(result: Buffer): string {
  return JSON.parse(result.toString()).content[0].text;
}

describe('the three tools', () => {
  it('have valid names and schemas', () => {
    expect(SEARCH_TOOLS.map(({ name }) => name)).toEqual([FIND_TOOLS, DESCRIBE_TOOL, CALL_TOOL]);
    for (const { name, text } of SEARCH_TOOLS) {
      expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(JSON.parse(text.toString())).toMatchObject({ name, inputSchema: { type: 'object' } });
    }
    expect(errorsOf(FIND_TOOLS, 'inputSchema', { query: 'x', limit: 5 })).toEqual([]);
    expect(errorsOf(CALL_TOOL, 'inputSchema', { name: 'x', arguments: {} })).toEqual([]);
    expect(errorsOf(DESCRIBE_TOOL, 'inputSchema', {})).toHaveLength(1);
  });
});

describe('find_tools', () => {
  it('reads its arguments, with a sentence on what is wrong', () => {
    expect(readFind({ query: 'x' })).toEqual({ query: 'x', server: undefined, limit: 10 });
    expect(readFind({ query: 'x', server: 's', limit: 99.5 })).toEqual({
      query: 'x',
      server: 's',
      limit: 50,
    });
    expect(readFind(undefined)).toEqual({ problem: '"query" must be a string.' });
    expect(readFind({ query: 'x'.repeat(501) })).toHaveProperty('problem');
    expect(readFind({ query: 'x', limit: 0 })).toHaveProperty('problem');
    expect(readFind({ query: 'x', limit: '3' })).toHaveProperty('problem');
    expect(readFind({ query: 'x', server: 1 })).toHaveProperty('problem');
  });

  it('answers in words and as structured content that fits its schema', () => {
    const result = foundResult(
      found(
        { title: 'B', description: 'Does b.\nAnd more.' },
        { name: 'a__c' },
        { name: 'a__d', title: 'D' },
      ),
      ['a'],
    );
    expect(textOf(result)).toBe('a__b - Does b.\na__c\na__d - D');
    const { structuredContent } = JSON.parse(result.toString());
    expect(structuredContent).toEqual({
      tools: [
        { name: 'a__b', title: 'B', description: 'Does b.', server: 'a' },
        { name: 'a__c', description: '', server: 'a' },
        { name: 'a__d', title: 'D', description: '', server: 'a' },
      ],
      matches: 3,
    });
    expect(errorsOf(FIND_TOOLS, 'outputSchema', structuredContent)).toEqual([]);
  });

  it('shortens descriptions at a word, and never within a character', () => {
    const words = textOf(foundResult(found({ description: 'word '.repeat(100) }), []));
    expect(words).toMatch(/^a__b - (word ){31}word\.\.\.$/);
    const pictures = textOf(foundResult(found({ description: `x${'🙂'.repeat(200)}` }), []));
    expect(pictures).toMatch(/^a__b - x(🙂){79}\.\.\.$/u);
  });

  it('says that there are more, or what there is when there is nothing', () => {
    expect(textOf(foundResult({ ...found({}), matches: 7 }, []))).toContain('(6 more match');
    expect(textOf(foundResult(found(), ['a', 'b']))).toBe(
      'No tool matches. Try other words, or one of the servers: a, b',
    );
  });
});

describe('describe_tool', () => {
  it('gives the definition as it is', () => {
    expect(readDescribe({ name: 'x' })).toEqual({ name: 'x' });
    expect(readDescribe({})).toHaveProperty('problem');
    const definition = '{"name":"a",  "inputSchema":{"maximum":9007199254740993}, "x":"\\u00e9"}';
    const result = describedResult(Buffer.from(definition));
    expect(result.toString()).toContain(`"structuredContent":${definition}}`);
    expect(textOf(result)).toBe(definition);
  });

  it('says which tools may have been meant', () => {
    expect(unknownTool('a__x', found({}, { name: 'a__c' }))).toBe(
      'There is no tool "a__x". Did you mean one of: a__b, a__c?',
    );
    expect(unknownTool('x', found())).toBe('There is no tool "x". Search with find_tools.');
    expect(JSON.parse(problemResult('No.').toString())).toEqual({
      content: [{ type: 'text', text: 'No.' }],
      isError: true,
    });
  });
});

describe('call_tool', () => {
  it('is taken off without touching a byte of the arguments', () => {
    const args = '{ "n":9007199254740993,"f":1.0, "e":1E2,"z":-0,"s":"\\u00e9" }';
    const params = `{"name":"call_tool","arguments":{"arguments":${args}, "name":"a__b"},"_meta":{"progressToken":1}}`;
    expect(unwrap(params)).toEqual({
      name: 'a__b',
      params: `{"_meta":{"progressToken":1},"name":"a__b","arguments":${args}}`,
    });
  });

  it('may have no arguments', () => {
    expect(unwrap('{"name":"call_tool","arguments":{"name":"a"}}')).toEqual({
      name: 'a',
      params: '{"name":"a","arguments":{}}',
    });
  });

  it('means the last of members with one name, as everybody else', () => {
    expect(unwrap('{"name":"call_tool","arguments":{"name":"a","name":"b"}}').name).toBe('b');
    const twice =
      '{"name":"x","arguments":{"name":"a"},"name":"call_tool","arguments":{"name":"b"}}';
    expect(unwrap(twice)).toEqual({ name: 'b', params: '{"name":"b","arguments":{}}' });
  });

  it.each<[string, string]>([
    ['{"name":"call_tool"}', '"name" must be'],
    ['{"name":"call_tool","arguments":[]}', '"name" must be'],
    ['{"name":"call_tool","arguments":{"name":1}}', '"name" must be'],
    [
      '{"name":"call_tool","arguments":{"name":"a","arguments":"{}"}}',
      '"arguments" must be an object',
    ],
    [
      '{"name":"call_tool","arguments":{"name":"a","arguments":null}}',
      '"arguments" must be an object',
    ],
    [
      '{"name":"call_tool","arguments":{"name":"a","path":"/x"}}',
      '"path" does not belong beside it',
    ],
  ])('%s is wrong', (params, problem) => {
    expect(unwrap(params).problem).toContain(problem);
  });
});
