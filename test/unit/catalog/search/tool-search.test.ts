// Which tools a search finds, and in which order.
import { describe, expect, it } from 'vitest';
import { toolListSchema } from '../../../../src/catalog/search/options.ts';
import { searchableTool, ToolSearch } from '../../../../src/catalog/search/tool-search.ts';

function tool(name: string, description: string, args: readonly string[] = [], server = 'files') {
  const properties = Object.fromEntries(args.map((arg) => [arg, {}]));
  const definition = { name, description, inputSchema: { type: 'object', properties } };
  return searchableTool(name, server, Buffer.from(JSON.stringify(definition)));
}

const TOOLS = [
  tool('files__read_file', 'Reads one file from the disk.', ['path']),
  tool('files__write_file', 'Writes text to a file.', ['path', 'content']),
  tool('files__listDirectory', 'Lists what is in a folder.', ['path']),
  tool('cal__create_event', 'Adds an entry to the calendar.', ['startTime', 'attendees'], 'cal'),
  tool('cal__find', 'Looks for appointments; can also read a file with them.', [], 'cal'),
  tool('web__fetch', '网页 取得 する tool', ['url'], 'web'),
];
const search = await ToolSearch.create(TOOLS);

function names(query: string, limit = 3, server?: string): string[] {
  return search.find(query, { limit, server }).tools.map(({ name }) => name);
}

describe('a search for tools', () => {
  it.each<[string, string]>([
    ['read a file', 'files__read_file'],
    ['readFile', 'files__read_file'],
    ['READ_FILE', 'files__read_file'],
    ['files__read_file', 'files__read_file'],
    ['list directory', 'files__listDirectory'],
    ['directories', 'files__listDirectory'],
    ['calender entry', 'cal__create_event'],
    ['start time', 'cal__create_event'],
    ['attend', 'cal__create_event'],
    ['页', 'web__fetch'],
    ['cal create', 'cal__create_event'],
  ])('%j finds %s first', (query, expected) => {
    expect(names(query, 1)).toEqual([expected]);
  });

  it('prefers a name to a sentence', () => {
    expect(names('read')).toEqual(['files__read_file', 'cal__find']);
  });

  it('can be of one server, and says how many match', () => {
    expect(search.find('file', { limit: 1 })).toMatchObject({ tools: { length: 1 }, matches: 4 });
    expect(names('read file', 9, 'cal')).toEqual(['cal__find']);
    expect(names('read file', 9, 'none')).toEqual([]);
    expect(search.servers).toEqual(['files', 'cal', 'web']);
  });

  it('finds all tools in their order when it has no word', () => {
    expect(names(' ?! ', 2)).toEqual(['files__read_file', 'files__write_file']);
    expect(search.find('', { limit: 9 }).matches).toBe(6);
  });

  it('finds nothing for what nobody says', () => {
    expect(search.find('zzzzzz', { limit: 9 })).toEqual({ tools: [], matches: 0 });
  });

  it('takes words that objects have by themselves', async () => {
    expect(names('constructor __proto__')).toEqual([]);
    const odd = await ToolSearch.create([tool('constructor', '')]);
    expect(odd.find('constructor', { limit: 1 }).matches).toBe(1);
  });

  it('has bounds on what it looks at and gives', async () => {
    const many = Array.from({ length: 200 }, (_, i) =>
      tool(`t${i}`, `Makes thing. ${'x '.repeat(5_000)}last`),
    );
    const large = await ToolSearch.create(many);
    expect(large.find('thing', { limit: 1_000 }).tools).toHaveLength(50);
    expect(large.find('last', { limit: 1 }).matches).toBe(0);
    expect(large.find(`${'y '.repeat(10_000)}thing`, { limit: 1 }).matches).toBe(0);
  });

  it('gives equally good ones in the order of the list', async () => {
    const twins = await ToolSearch.create(['b', 'a', 'c'].map((name) => tool(name, 'Same words.')));
    const found = twins.find('same words', { limit: 3 }).tools;
    expect(found.map(({ name }) => name)).toEqual(['b', 'a', 'c']);
  });

  it('reads only what is there of a definition', () => {
    expect(searchableTool('a', 's', Buffer.from('{"name":"x","description":1}'))).toEqual({
      name: 'a',
      title: '',
      description: '',
      argumentNames: [],
      server: 's',
    });
  });

  it('is not what an endpoint has by default', () => {
    expect(toolListSchema.parse(undefined)).toBe('full');
  });
});

describe('what a server says at length', () => {
  const words = (count: number): string =>
    Array.from({ length: count }, (_, i) => `w${i}x`).join(' ');

  it('is searched at its beginning, whatever it is', async () => {
    const long = words(100_000);
    const texts = { title: long, description: long };
    for (const text of [
      JSON.stringify({ name: 'a', ...texts }),
      JSON.stringify({ name: 'a', inputSchema: { type: 'object', properties: { [long]: {} } } }),
    ]) {
      const one = await ToolSearch.create([searchableTool('a', 's', Buffer.from(text))]);
      expect(one.find('w7x', { limit: 1 }).matches).toBe(1);
      expect(one.find('w9999x', { limit: 1 }).matches).toBe(0);
      expect(one.find('', { limit: 1 }).tools[0]?.title.length).toBeLessThan(201);
    }
    const named = await ToolSearch.create([tool(`w7x ${long}`, '')]);
    expect(named.find('w7x', { limit: 1 }).matches).toBe(1);
    expect(named.find('w9999x', { limit: 1 }).matches).toBe(0);
  });

  it('is searched as far as all that it says of its tools is not too much', async () => {
    const description = 'd'.repeat(1_990);
    const many = Array.from({ length: 600 }, (_, i) => tool(`many_t${i}`, `deep ${description}`));
    const all = await ToolSearch.create([...many, tool('other', 'deep too', [], 'other')]);
    expect(all.find('deep', { limit: 1 }).matches).toBeGreaterThan(400);
    expect(all.find('deep', { limit: 1 }).matches).toBeLessThan(510);
    expect(all.find('deep', { limit: 1, server: 'other' }).matches).toBe(1);
    expect(all.find('t599', { limit: 1 }).matches).toBe(1);
  });
});
