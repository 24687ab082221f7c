// One list of one server as it was read: a value. Equal ones are one object (see ServerLists), so
// whatever is made of lists can be kept by what they are.
import type { Frame } from '../jsonrpc/frame.ts';
import { editObject, lastMember } from '../jsonrpc/members.ts';
import { isObject, parseResult, parseSpan, splitArray } from '../jsonrpc/parse.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import { LISTS, type ListMethod } from './list-kinds.ts';

const ANY_ARGUMENTS = Buffer.from('{"type":"object"}');

/** A tool, prompt, resource or template. */
export interface ListedEntry {
  /** Its name, URI or template. */
  readonly name: string;
  /** As the server wrote it. */
  readonly text: Buffer;
}

/** All pages of a list. */
export interface ServerList {
  readonly entries: readonly ListedEntry[];
  /** How long the server says that it may be kept, in milliseconds. */
  readonly ttlMs: number;
  /** Whether the server says that it is the same one for everybody. */
  readonly isPublic: boolean;
  /** The server did not give the rest. */
  readonly isPart?: boolean;
}

export const EMPTY_LIST: ServerList = {
  entries: [],
  ttlMs: Number.POSITIVE_INFINITY,
  isPublic: true,
};

/** One page as it came. */
export interface ListPage extends ServerList {
  readonly next: string | undefined;
  /** Entries that were left out, since what names them is longer than base/text-limits.ts has it. */
  readonly tooLong: number;
}

/**
 * Reads a page. Entries that have no name, or too long a one, can't be used and are left out.
 * @returns undefined when it is an error, or no list
 */
export function readPage(method: ListMethod, answer: Frame): ListPage | undefined {
  const result = parseResult(answer);
  if (result === undefined) return undefined;
  const { member, named, maxLength } = LISTS[method];
  let tooLong = 0;
  const { bytes, resultStart, resultEnd } = answer;
  const list = lastMember(bytes, resultStart, resultEnd, member);
  if (list === undefined) return undefined;
  const entries = splitArray(bytes.subarray(list.valueStart, list.valueEnd)).flatMap((view) => {
    const entry = parseSpan(view, 0, view.length);
    const name = isObject(entry) ? entry[named] : undefined;
    if (typeof name !== 'string') return [];
    if (name.length > maxLength) {
      tooLong++;
      return [];
    }
    // Copied: a view would keep the whole message.
    return [{ name, text: readable(method, view, entry) }];
  });
  const { nextCursor, ttlMs, cacheScope } = result;
  return {
    entries,
    ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0,
    isPublic: cacheScope === 'public',
    next: typeof nextCursor === 'string' ? nextCursor : undefined,
    tooLong,
  };
}

/** Clients drop a whole list for one tool without a schema: it gets one that says nothing. */
function readable(method: ListMethod, view: Buffer, entry: unknown): Buffer {
  if (method !== TOOLS_LIST || !isObject(entry) || isObject(entry['inputSchema'])) {
    return Buffer.from(view);
  }
  return editObject(view, 0, view.length, { set: new Map([['inputSchema', ANY_ARGUMENTS]]) });
}
