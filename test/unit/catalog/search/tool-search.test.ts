// Which tools a search finds, and in which order.
import MiniSearch from 'minisearch';
import { describe, expect, it, vi } from 'vitest';
import { onNextTurn } from '../../../../src/base/turns.ts';
import { endpointSchema } from '../../../../src/catalog/endpoint-options.ts';
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

async function names(query: string, limit = 3, server?: string): Promise<string[]> {
  return (await search.find(query, { limit, server })).tools.map(({ name }) => name);
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
  ])('%j finds %s first', async (query, expected) => {
    expect(await names(query, 1)).toEqual([expected]);
  });

  it('prefers a name to a sentence', async () => {
    expect(await names('read')).toEqual(['files__read_file', 'cal__find']);
  });

  it('can be of one server, and says how many match', async () => {
    expect(await search.find('file', { limit: 1 })).toMatchObject({
      tools: { length: 1 },
      matches: 4,
    });
    expect(await names('read file', 9, 'cal')).toEqual(['cal__find']);
    expect(await names('read file', 9, 'none')).toEqual([]);
    expect(search.servers).toEqual(['files', 'cal', 'web']);
  });

  it('finds all tools in their order when it has no word', async () => {
    expect(await names(' ?! ', 2)).toEqual(['files__read_file', 'files__write_file']);
    expect((await search.find('', { limit: 9 })).matches).toBe(6);
  });

  it('finds nothing for what nobody says', async () => {
    expect(await search.find('zzzzzz', { limit: 9 })).toEqual({ tools: [], matches: 0 });
  });

  it('takes words that objects have by themselves', async () => {
    expect(await names('constructor __proto__')).toEqual([]);
    const odd = await ToolSearch.create([tool('constructor', '')]);
    expect((await odd.find('constructor', { limit: 1 })).matches).toBe(1);
  });

  it('has bounds on what it looks at and gives', async () => {
    const many = Array.from({ length: 200 }, (_, i) =>
      tool(`t${i}`, `Makes thing. ${'x '.repeat(5_000)}last`),
    );
    const large = await ToolSearch.create(many);
    expect((await large.find('thing', { limit: 1_000 })).tools).toHaveLength(50);
    expect((await large.find('last', { limit: 1 })).matches).toBe(0);
    expect((await large.find(`${'y '.repeat(10_000)}thing`, { limit: 1 })).matches).toBe(0);
  });

  it('gives equally good ones in the order of the list', async () => {
    const alike = await ToolSearch.create(['b', 'a', 'c'].map((name) => tool(name, 'Same words.')));
    const found = (await alike.find('same words', { limit: 3 })).tools;
    expect(found.map(({ name }) => name)).toEqual(['b', 'a', 'c']);
  });

  it('reads only what is there of a definition', async () => {
    expect(searchableTool('a', 's', Buffer.from('{"name":"x","description":1}'))).toEqual({
      name: 'a',
      title: '',
      description: '',
      argumentNames: [],
      server: 's',
    });
  });

  it('is not what an endpoint has by default', async () => {
    expect(endpointSchema.shape.toolList.parse(undefined)).toBe('full');
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
      expect((await one.find('w7x', { limit: 1 })).matches).toBe(1);
      expect((await one.find('w9999x', { limit: 1 })).matches).toBe(0);
      expect((await one.find('', { limit: 1 })).tools[0]?.title.length).toBeLessThan(201);
    }
    const named = await ToolSearch.create([tool(`w7x ${long}`, '')]);
    expect((await named.find('w7x', { limit: 1 })).matches).toBe(1);
    expect((await named.find('w9999x', { limit: 1 })).matches).toBe(0);
  });

  it('is searched as far as all that it says of its tools is not too much', async () => {
    const description = 'd'.repeat(1_990);
    const many = Array.from({ length: 600 }, (_, i) => tool(`many_t${i}`, `deep ${description}`));
    const all = await ToolSearch.create([...many, tool('other', 'deep too', [], 'other')]);
    expect((await all.find('deep', { limit: 1 })).matches).toBeGreaterThan(400);
    expect((await all.find('deep', { limit: 1 })).matches).toBeLessThan(510);
    expect((await all.find('deep', { limit: 1, server: 'other' })).matches).toBe(1);
    expect((await all.find('t599', { limit: 1 })).matches).toBe(1);
  });
});

describe('a query among very many tools', () => {
  const COMMON = 'alpha bravo chart delta event field group house index joint knife lemon'.split(
    ' ',
  );

  /** Counts the places that are looked at, and the turns that it takes. */
  function counted(): { steps: number; longest: number } {
    const count = { steps: 0, longest: 0 };
    const original = MiniSearch.prototype.search;
    vi.spyOn(MiniSearch.prototype, 'search').mockImplementation(function (
      this: MiniSearch,
      query,
      options,
    ) {
      const before = count.steps;
      const boost = options?.boostDocument;
      const boostDocument: typeof boost = (...place) => {
        const factor = boost?.(...place) ?? 1;
        if (factor > 0) count.steps++;
        return factor;
      };
      const found = original.call(this, query, { ...options, boostDocument });
      count.longest = Math.max(count.longest, count.steps - before);
      return found;
    });
    return count;
  }

  it('looks at so many places at most, with a break behind each word that has many', async () => {
    const many = Array.from({ length: 6_000 }, (_, at) => tool(`rare${at}`, COMMON.join(' ')));
    const large = await ToolSearch.create(many);
    const count = counted();
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) onNextTurn(turn);
    };
    onNextTurn(turn);
    const found = await large.find(COMMON.join(' '), { limit: 3 });
    isOver = true;
    expect(found.matches).toBe(6_000);
    expect(count.steps).toBeLessThanOrEqual(60_000);
    expect(count.longest).toBeLessThanOrEqual(1_000);
    expect(turns).toBeGreaterThanOrEqual(5);
  });

  it('looks for a word that all of them have in several turns, and finds all of them', async () => {
    const many = Array.from({ length: 9_000 }, (_, at) => tool(`tool_${at.toString(36)}`, ''));
    const large = await ToolSearch.create(many);
    const count = counted();
    const found = await large.find('tool', { limit: 3 });
    expect(found.matches).toBe(9_000);
    expect(count.steps).toBe(9_000);
    expect(count.longest).toBeLessThanOrEqual(1_000);
    expect(await large.find('tool 5zz', { limit: 1 })).toMatchObject({
      tools: [{ name: 'tool_5zz' }],
    });
  });

  it('finds by the word that few have, however many others stand before it', async () => {
    const many = Array.from({ length: 8_000 }, (_, at) => tool(`t${at}`, COMMON.join(' ')));
    const large = await ToolSearch.create([...many, tool('needle', 'zebra')]);
    const found = await large.find(`${COMMON.slice(0, 11).join(' ')} zebra`, { limit: 1 });
    expect(found.tools.map(({ name }) => name)).toEqual(['needle']);
  });
});
