// Finds tools by words: a full text search over their definitions, ranked by BM25+ (MiniSearch). An index
// belongs to one list of tools and never changes.
import MiniSearch, { type SearchResult } from 'minisearch';
import { LEAST_COST, nextTurn, turnFor } from '../../base/turns.ts';
import { isObject, parseSpan } from '../../jsonrpc/parse.ts';
import { listWork } from '../list-work.ts';

export const MAX_QUERY_CHARS = 500;
export const MAX_FOUND = 50;
export const DEFAULT_FOUND = 10;
const MAX_TERMS = 12;
/** How many characters of a tool are searched. The beginning usually says what it does. */
const MAX_CHARS = { name: 200, title: 200, argumentNames: 1_000, description: 2_000 } as const;
const MAX_INDEXED_ARGUMENTS = 50;
/** How many characters of one server's tools are searched. Only the names of later tools are. */
const MAX_SERVER_CHARS = 1_000_000;
/** Tools that are indexed in one step. */
const SLICE = 10;
/**
 * Tools in one index. More tools need several indexes, each searched in its own turn, because a word may be
 * in all of them.
 */
const INDEX_SIZE = 1_000;
const MIN_PREFIX_CHARS = 3;
const MIN_FUZZY_CHARS = 5;
/** Allowed edits for each character of a word. */
const FUZZINESS = 0.2;
/** With more edits it is another word. */
const MAX_EDITS = 3;
/**
 * Occurrences of words that one query reads. For up to a thousand tools this is enough for every query. With
 * more tools, the words that most tools have are ignored, because they say least.
 */
const MAX_STEPS = 60_000;
/** For all queries together in one turn of the event loop. A step costs as much as a short message. */
const IN_TURN = listWork();
/** More results than this are sorted in a separate turn. */
const MANY_RESULTS = 5_000;
/** A word in a tool's name says more than one in its description. */
const BOOST = { name: 4, title: 3, server: 2, argumentNames: 1.5, description: 1 } as const;

/** The searched texts of a tool. */
export interface SearchableTool {
  /** The name that clients see. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly argumentNames: readonly string[];
  readonly server: string;
}

/** The result of a search. */
export interface FoundTools {
  /** Best match first. */
  readonly tools: readonly SearchableTool[];
  /** The number of all matches. */
  readonly matches: number;
}

/**
 * Reads the searched texts of a definition.
 * @param name of the tool, as clients see it
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
  readonly #indexes: readonly MiniSearch[];
  readonly #spread: WordSpread;

  private constructor(
    tools: readonly SearchableTool[],
    indexes: readonly MiniSearch[],
    spread: WordSpread,
  ) {
    this.#tools = tools;
    this.#indexes = indexes;
    this.#spread = spread;
  }

  /**
   * Makes an index, in steps of some milliseconds.
   * @param tools read one after another, when they are needed
   */
  static async create(tools: Iterable<SearchableTool>): Promise<ToolSearch> {
    const spread = new WordSpread();
    const newIndex = (): MiniSearch =>
      new MiniSearch({
        fields: Object.keys(BOOST),
        tokenize: wordsOf,
        processTerm: (term) => {
          spread.note(term);
          return term;
        },
      });
    let index = newIndex();
    const indexes = [index];
    const all: SearchableTool[] = [];
    const documents = new Documents();
    for (const tool of tools) {
      if (index.documentCount === INDEX_SIZE) {
        index = newIndex();
        indexes.push(index);
      }
      index.add(documents.of(tool, all.length));
      all.push(tool);
      if (all.length % SLICE === 0) await nextTurn();
    }
    return new ToolSearch(all, indexes, spread);
  }

  /** The servers that have tools here, in the order of the list. */
  get servers(): readonly string[] {
    return [...new Set(this.#tools.map(({ server }) => server))];
  }

  /**
   * Searches. A query without words returns all tools, in the order of the list.
   * @param query any text; only the first 12 words are used
   * @param options.server only tools of this server
   * @param options.limit the most results
   */
  async find(
    query: string,
    options: { readonly limit: number; readonly server?: string | undefined },
  ): Promise<FoundTools> {
    const words = wordsOf(query.slice(0, MAX_QUERY_CHARS)).slice(0, MAX_TERMS);
    const found = words.length === 0 ? this.#tools : await this.#search(words);
    const { server, limit } = options;
    const fitting = server === undefined ? found : found.filter((tool) => tool.server === server);
    return { tools: fitting.slice(0, Math.min(limit, MAX_FOUND)), matches: fitting.length };
  }

  /**
   * Word by word, in several turns. The scores of words are added, and tools that match more words rank
   * higher.
   */
  async #search(words: readonly string[]): Promise<SearchableTool[]> {
    const scores = new Map<number, { score: number; words: number }>();
    const budget = { steps: MAX_STEPS };
    for (const word of this.#spread.rarestFirst(words)) {
      // Reading only half of the occurrences would prefer the tools that are listed first.
      if (scores.size > 0 && this.#spread.countOf(word) > budget.steps) break;
      const places = Math.min(this.#spread.countOf(word), budget.steps);
      const expected = Math.ceil(places / this.#indexes.length);
      for (const index of this.#indexes) {
        const turn = turnFor(IN_TURN, expected * LEAST_COST);
        if (turn !== undefined) await turn;
        const paid = budget.steps - expected;
        for (const { id, score } of searchWord(index, word, budget)) {
          const one = scores.get(Number(id)) ?? { score: 0, words: 0 };
          scores.set(Number(id), { score: one.score + score, words: one.words + 1 });
        }
        spendMore(paid - budget.steps);
      }
    }
    if (scores.size > MANY_RESULTS) await nextTurn();
    return [...scores]
      .map(([id, { score, words: found }]): [number, number] => [id, score * found])
      .sort(([left, leftScore], [right, rightScore]) => rightScore - leftScore || left - right)
      .flatMap(([id]) => this.#tools[id] ?? []);
  }
}

/** Similar words have more occurrences than the word itself. Their number is known only after the search. */
function spendMore(steps: number): void {
  if (steps > 0) IN_TURN.spend(steps * LEAST_COST);
}

function searchWord(index: MiniSearch, word: string, budget: { steps: number }): SearchResult[] {
  return index.search(word, {
    // The query is one normalized word already.
    tokenize: (one) => [one],
    processTerm: (one) => one,
    boost: BOOST,
    prefix: word.length >= MIN_PREFIX_CHARS,
    fuzzy: word.length >= MIN_FUZZY_CHARS ? FUZZINESS : false,
    maxFuzzy: MAX_EDITS,
    // Called for each occurrence of the word or a similar one; those of the word itself come first.
    boostDocument: () => (budget.steps-- > 0 ? 1 : 0),
  });
}

/** The number of occurrences of each word in the index. */
class WordSpread {
  readonly #byWord = new Map<string, number>();
  /** Of all words with the same beginning. */
  readonly #byStart = new Map<string, number>();

  note(word: string): void {
    this.#byWord.set(word, (this.#byWord.get(word) ?? 0) + 1);
    const start = word.slice(0, MIN_PREFIX_CHARS);
    this.#byStart.set(start, (this.#byStart.get(start) ?? 0) + 1);
  }

  /** Different words, the rarest first, because they say most. */
  rarestFirst(words: readonly string[]): string[] {
    return [...new Set(words)].sort((left, right) => this.countOf(left) - this.countOf(right));
  }

  /** The number of occurrences. A short word is mostly the beginning of others. */
  countOf(word: string): number {
    const isStart = word.length >= MIN_PREFIX_CHARS && word.length < MIN_FUZZY_CHARS;
    const counts = isStart ? this.#byStart : this.#byWord;
    return counts.get(isStart ? word.slice(0, MIN_PREFIX_CHARS) : word) ?? 0;
  }
}

/** The indexed texts of tools. */
class Documents {
  /** The number of characters of each server so far. */
  readonly #said = new Map<string, number>();

  of({ name, title, description, argumentNames, server }: SearchableTool, id: number): object {
    const texts = {
      name: name.slice(0, MAX_CHARS.name),
      title,
      description,
      argumentNames: argumentNames.join(' ').slice(0, MAX_CHARS.argumentNames),
    };
    const chars = Object.values(texts).reduce((sum, text) => sum + text.length, 0);
    const total = (this.#said.get(server) ?? 0) + chars;
    this.#said.set(server, total);
    return total <= MAX_SERVER_CHARS ? { id, server, ...texts } : { id, server, name: texts.name };
  }
}

/**
 * `readFiles`, `read_file` and `Read a file` become read, file. Scripts without spaces: one character each.
 */
function wordsOf(text: string): string[] {
  return text
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
    .replace(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/gu, ' $& ')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
    .map(singularOf);
}

/** A simple rule for English. It is applied to both the index and the query. */
function singularOf(word: string): string {
  if (word.length <= MIN_PREFIX_CHARS || !word.endsWith('s') || word.endsWith('ss')) return word;
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
