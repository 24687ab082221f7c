// The three tools of an endpoint with `toolList: search`: finds and describes tools, and gets the call out of
// `call_tool`.

import { finished } from '../../base/steps.ts';
import { makeOfLists } from '../../catalog/list-work.ts';
import { Listing } from '../../catalog/listing.ts';
import { OfferedEntry } from '../../catalog/offered-entry.ts';
import {
  describedResult,
  foundResult,
  problemResult,
  unknownTool,
} from '../../catalog/search/search-results.ts';
import {
  CALL_TOOL,
  DESCRIBE_TOOL,
  FIND_TOOLS,
  readDescribe,
  readFind,
  SEARCH_TOOLS,
  unwrapCall,
} from '../../catalog/search/search-tools.ts';
import {
  type SearchableTool,
  searchableTool,
  ToolSearch,
} from '../../catalog/search/tool-search.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { EMPTY_OBJECT } from '../../jsonrpc/json-text.ts';
import { parseParams } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { replaceSpan } from '../../jsonrpc/splice.ts';
import { TOOLS_LIST } from '../../mcp/methods.ts';
import type { ClientLeases } from './aggregate-router.ts';

/** How many similar tools are suggested if a name is not found. */
const ALIKE = 5;
/** Servers have indexes from 0. */
const NO_MEMBER = -1;

/** What `tools/list` returns. */
export const SEARCH_LISTING: Listing = finished(
  Listing.of(
    TOOLS_LIST,
    SEARCH_TOOLS.map(({ name, text }) => {
      const entry = { upstream: name, text, ownText: text, toolPolicy: undefined };
      const as = { exposed: name, member: NO_MEMBER, era: 'legacy', pageOf: String } as const;
      return new OfferedEntry(TOOLS_LIST, entry, as);
    }),
  ),
);

/** What to do with a call. */
export type SearchOutcome =
  /** It is answered with this result. */
  | { readonly result: Buffer }
  /** It is this call of a tool. */
  | { readonly call: Frame };

/** The client that searches. */
type SearchContext = Pick<ClientLeases, 'view' | 'parts' | 'era' | 'principal'>;

/** Searches the tools of one endpoint. */
export class SearchService {
  readonly #keys: readonly string[];
  readonly #indexes = new WeakMap<Listing, Promise<ToolSearch>>();

  /** @param keys names of the servers, in the order of the configuration */
  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  /**
   * Handles a call of one of the three tools.
   * @returns undefined if it is another tool
   */
  take(
    frame: Frame,
    name: string,
    context: SearchContext,
  ): SearchOutcome | Promise<SearchOutcome> | undefined {
    switch (name) {
      case FIND_TOOLS:
        return this.#find(parseParams(frame)['arguments'], context);
      case DESCRIBE_TOOL:
        return this.#describe(parseParams(frame)['arguments'], context);
      case CALL_TOOL:
        return unwrapped(frame);
      default:
        return undefined;
    }
  }

  async #find(args: unknown, context: SearchContext): Promise<SearchOutcome> {
    const asked = readFind(args);
    if ('problem' in asked) return { result: problemResult(asked.problem) };
    const index = await this.#indexOf(await seenTools(context));
    const found = await index.find(asked.query, asked);
    return { result: foundResult(found, index.servers) };
  }

  async #describe(args: unknown, context: SearchContext): Promise<SearchOutcome> {
    const asked = readDescribe(args);
    if ('problem' in asked) return { result: problemResult(asked.problem) };
    const listing = await seenTools(context);
    const entry = listing.find(asked.name);
    if (entry !== undefined) {
      return {
        result: describedResult(context.era === 'modern' ? entry.modernText : entry.legacyText),
      };
    }
    return { result: await this.#unknownIn(listing, asked.name) };
  }

  /** The result for the name of a tool that the client does not see. */
  async unknown(name: string, context: SearchContext): Promise<Buffer> {
    return await this.#unknownIn(await seenTools(context), name);
  }

  async #unknownIn(listing: Listing, name: string): Promise<Buffer> {
    const index = await this.#indexOf(listing);
    return problemResult(unknownTool(name, await index.find(name, { limit: ALIKE })));
  }

  #indexOf(listing: Listing): Promise<ToolSearch> {
    let index = this.#indexes.get(listing);
    if (index === undefined) {
      index = ToolSearch.create(this.#toolsOf(listing));
      this.#indexes.set(listing, index);
    }
    return index;
  }

  *#toolsOf({ entries }: Listing): Iterable<SearchableTool> {
    for (const { name, member, modernText } of entries) {
      yield searchableTool(name, this.#keys[member] ?? '', modernText);
    }
  }
}

/** A client finds only what it may use. */
async function seenTools({ view, parts, principal }: SearchContext): Promise<Listing> {
  const listing = await view.named(TOOLS_LIST);
  return await makeOfLists(parts.visibility.of(principal, listing));
}

function unwrapped(frame: Frame): SearchOutcome {
  const { bytes, paramsStart, paramsEnd } = frame;
  const call = unwrapCall(frame.slice(paramsStart, paramsEnd) ?? EMPTY_OBJECT);
  if ('problem' in call) return { result: problemResult(call.problem) };
  return { call: scan(replaceSpan(bytes, paramsStart, paramsEnd, call.params)) };
}
