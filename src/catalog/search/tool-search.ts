// Finds tools by words: full text search over what their servers say of them, ranked by BM25+ as
// MiniSearch has it. A value made of one list of tools; another list has another one.
import MiniSearch from 'minisearch';
import { isObject, parseSpan } from '../../jsonrpc/parse.ts';

export const MAX_QUERY_CHARS = 500;
export const MAX_FOUND = 50;
export const DEFAULT_FOUND = 10;
const MAX_TERMS = 12;
/** How much is searched of what a server says of a tool: what it is comes first. */
const MAX_CHARS = { name: 200, title: 200, argumentNames: 1_000, description: 2_000 } as const;
const MAX_INDEXED_ARGUMENTS = 50;
/** And of all that one server says; of its tools behind that only the names are searched. */
const MAX_SERVER_CHARS = 1_000_000;
/** Tools that are indexed without a break for others. */
const SLICE = 10;
const MIN_PREFIX_CHARS = 3;
const MIN_FUZZY_CHARS = 5;
/** Edits per character of a word that may be misspelt. */
const FUZZINESS = 0.2;
/** A name says more of a tool than a sentence about it. */
const BOOST = { name: 4, title: 3, server: 2, argumentNames: 1.5, description: 1 } as const;

/** What is searched of a tool. */
export interface SearchableTool {
  /** As clients see it. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly argumentNames: readonly string[];
  readonly server: string;
}

/** What a search found. */
export interface Found {
  /** Best first. */
  readonly tools: readonly SearchableTool[];
  /** How many match in all. */
  readonly matches: number;
}

/**
 * Reads what is searched of a definition.
 * @param name of the tool as clients see it
 * @param server name of its server
 * @param definition JSON text, as clients see it
 */
export function searchableTool(name: string, server: string, definition: Buffer): SearchableTool {
  const tool = parseSpan(definition, 0, definition.length);
  const { title, description, inputSchema } = isObject(tool) ? tool : {};
  const properties = isObject(inputSchema) ? inputSchema['properties'] : undefined;
  return {
    name,
    title: textOf(title).slice(0, MAX_CHARS.title),
    description: textOf(description).slice(0, MAX_CHARS.description),
    argumentNames: isObject(properties)
      ? Object.keys(properties).slice(0, MAX_INDEXED_ARGUMENTS)
      : [],
    server,
  };
}

/** An index over the tools of one endpoint. */
export class ToolSearch {
  readonly #tools: readonly SearchableTool[];
  readonly #index: MiniSearch;

  private constructor(tools: readonly SearchableTool[], index: MiniSearch) {
    this.#tools = tools;
    this.#index = index;
  }

  /** Makes an index, in slices of some milliseconds. */
  static async create(tools: readonly SearchableTool[]): Promise<ToolSearch> {
    const index = new MiniSearch({
      fields: Object.keys(BOOST),
      tokenize: wordsOf,
      processTerm: (term) => term,
    });
    await index.addAllAsync(documentsOf(tools), { chunkSize: SLICE });
    return new ToolSearch(tools, index);
  }

  /** Names of the servers that have tools here, in the order of the list. */
  get servers(): readonly string[] {
    return [...new Set(this.#tools.map(({ server }) => server))];
  }

  /**
   * Searches. A query without a word finds all tools, in the order of the list.
   * @param query any text; words after the first 12 are not looked at
   * @param options.server only tools of this server
   * @param options.limit the most tools to give
   */
  find(
    query: string,
    options: { readonly limit: number; readonly server?: string | undefined },
  ): Found {
    const words = wordsOf(query.slice(0, MAX_QUERY_CHARS)).slice(0, MAX_TERMS);
    const found = words.length === 0 ? this.#tools : this.#search(words);
    const { server, limit } = options;
    const fitting = server === undefined ? found : found.filter((tool) => tool.server === server);
    return { tools: fitting.slice(0, Math.min(limit, MAX_FOUND)), matches: fitting.length };
  }

  #search(words: readonly string[]): SearchableTool[] {
    const results = this.#index.search(words.join(' '), {
      boost: BOOST,
      prefix: (word) => word.length >= MIN_PREFIX_CHARS,
      fuzzy: (word) => (word.length >= MIN_FUZZY_CHARS ? FUZZINESS : false),
    });
    return results
      .map(({ id, score }): [number, number] => [Number(id), score])
      .sort(([left, leftScore], [right, rightScore]) => rightScore - leftScore || left - right)
      .flatMap(([id]) => this.#tools[id] ?? []);
  }
}

/** What of tools is indexed. */
function documentsOf(tools: readonly SearchableTool[]): object[] {
  const said = new Map<string, number>();
  return tools.map(({ name, title, description, argumentNames, server }, id) => {
    const texts = {
      name: name.slice(0, MAX_CHARS.name),
      title,
      description,
      argumentNames: argumentNames.join(' ').slice(0, MAX_CHARS.argumentNames),
    };
    const chars = Object.values(texts).reduce((sum, text) => sum + text.length, 0);
    const total = (said.get(server) ?? 0) + chars;
    said.set(server, total);
    return total <= MAX_SERVER_CHARS ? { id, server, ...texts } : { id, server, name: texts.name };
  });
}

/** `readFiles`, `read_file`, `Read a file` -> read, file. Scripts without spaces: one by one. */
function wordsOf(text: string): string[] {
  return text
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
    .replace(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/gu, ' $& ')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
    .map(singularOf);
}

/** Close enough for English, and the same for what is searched and what it is searched with. */
function singularOf(word: string): string {
  if (word.length <= MIN_PREFIX_CHARS || !word.endsWith('s') || word.endsWith('ss')) return word;
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
