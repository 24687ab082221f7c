// One list of one server, as it was read. Equal lists are one object (see DistinctLists), so what is derived
// from lists can be cached by object.
import { TEXT_LIMITS } from '../base/text-limits.ts';
import { nextTurn, turnFor } from '../base/turns.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { OPEN_BRACE } from '../jsonrpc/json-text.ts';
import { editObject, lastMember, lastMembers, type Member } from '../jsonrpc/members.ts';
import { Elements, parseSpan, parseString } from '../jsonrpc/parse.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import { LISTS, type ListMethod } from './list-kinds.ts';
import { listWork } from './list-work.ts';

const ANY_ARGUMENTS = Buffer.from('{"type":"object"}');

/** A tool, prompt, resource or template. */
export interface ListedEntry {
  /** Its name, URI or template. */
  readonly name: string;
  /** The text that the server sent. */
  readonly text: Buffer;
}

/** All pages of a list. */
export interface ServerList {
  readonly entries: readonly ListedEntry[];
  /** How long it may be cached, according to the server, in milliseconds. */
  readonly ttlMs: number;
  /** Whether it is the same for all clients, according to the server. */
  readonly isPublic: boolean;
  /** Whether the rest is missing. */
  readonly isPart?: boolean;
}

export const EMPTY_LIST: ServerList = {
  entries: [],
  ttlMs: Number.POSITIVE_INFINITY,
  isPublic: true,
};

const MAX_PAGES = 256;
export const MAX_ENTRIES = 10_000;
export const MAX_BYTES = 16 * 1024 * 1024;
/** The largest size of one entry, in bytes. */
export const MAX_ENTRY_BYTES = 2 * 1024 * 1024;
/** Reading a page of this size takes noticeable time. */
const LARGE_BYTES = 1024 * 1024;
/** What is read of lists of all servers in one turn of the event loop. */
const IN_TURN = listWork();
/** A cache time in a list has no more digits. */
const MAX_TTL_DIGITS = 32;

/** A list while its pages are read. Entries beyond the limits are not kept. */
export class ReadPages {
  pages = 0;
  /** The cursor of the next page. */
  next: string | undefined;
  /** Entries that were left out because their name or URI is too long (base/text-limits.ts). */
  tooLong = 0;
  /** Entries that were left out because they are too large. */
  tooLarge = 0;
  readonly #method: ListMethod;
  readonly #entries: ListedEntry[] = [];
  readonly #cursors = new Set<string>();
  #bytes = 0;
  #ttlMs = Number.POSITIVE_INFINITY;
  #isPublic = true;
  #isFull = false;

  constructor(method: ListMethod) {
    this.#method = method;
  }

  get list(): ServerList {
    return { entries: this.#entries, ttlMs: this.#ttlMs, isPublic: this.#isPublic };
  }

  /** Whether there are no more pages. */
  get isWhole(): boolean {
    return this.next === undefined && !this.#isFull;
  }

  /**
   * Reads a page, in several turns of the event loop if it is large. Entries without a name, or with one that
   * is too long, are left out.
   * @returns false if the answer is an error or not a list
   */
  async add({ bytes, resultStart, resultEnd }: Frame): Promise<boolean> {
    if (resultStart < 0) return false;
    // Scanning the page has already used up this turn.
    const isLarge = resultEnd - resultStart > LARGE_BYTES;
    if (isLarge) await nextTurn();
    const { member } = LISTS[this.#method];
    const keys = [member, 'nextCursor', 'ttlMs', 'cacheScope'];
    const members = lastMembers(bytes, resultStart, resultEnd, keys);
    const list = members.get(member);
    if (list === undefined) return false;
    if (isLarge) await nextTurn();
    await this.#addAll(bytes.subarray(list.valueStart, list.valueEnd));
    this.pages++;
    this.#bytes += bytes.length;
    this.#ttlMs = Math.min(this.#ttlMs, ttlOf(bytes, members.get('ttlMs')));
    this.#isPublic &&= stringOf(bytes, members.get('cacheScope')) === 'public';
    this.next = stringOf(bytes, members.get('nextCursor'));
    return true;
  }

  async #addAll(text: Buffer): Promise<void> {
    let entriesLeft = MAX_ENTRIES - this.#entries.length;
    let bytesLeft = MAX_BYTES - this.#bytes;
    const elements = new Elements(text);
    while (elements.next()) {
      const view = text.subarray(elements.start, elements.end);
      entriesLeft--;
      bytesLeft -= view.length;
      this.#isFull = entriesLeft < 0 || bytesLeft < 0;
      if (this.#isFull) return;
      const turn = turnFor(IN_TURN, view.length);
      if (turn !== undefined) await turn;
      this.#add(view);
    }
  }

  #add(view: Buffer): void {
    const { named, maxLength } = LISTS[this.#method];
    if (view.length > MAX_ENTRY_BYTES) {
      this.tooLarge++;
      return;
    }
    const name = stringOf(view, lastMember(view, 0, view.length, named));
    if (name === undefined) return;
    if (name.length > maxLength) this.tooLong++;
    // Copied, because a view would keep the whole message in memory.
    else this.#entries.push({ name, text: readable(this.#method, view) });
  }

  /**
   * Whether the next page may be requested. Limits the number of pages, and refuses a cursor that was already
   * used.
   */
  mayGoOn(): boolean {
    const { next } = this;
    if (next === undefined || this.#isFull || this.pages === MAX_PAGES) return false;
    if (next.length > TEXT_LIMITS.cursor || this.#cursors.has(next)) return false;
    this.#cursors.add(next);
    return this.#entries.length < MAX_ENTRIES && this.#bytes < MAX_BYTES;
  }
}

function stringOf(bytes: Buffer, member: Member | undefined): string | undefined {
  return member && parseString(bytes, member.valueStart, member.valueEnd);
}

function ttlOf(bytes: Buffer, member: Member | undefined): number {
  if (member === undefined || member.valueEnd - member.valueStart > MAX_TTL_DIGITS) return 0;
  const ttlMs = parseSpan(bytes, member.valueStart, member.valueEnd);
  return typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0;
}

/** Clients drop a whole list if one tool has no schema. So it gets an empty schema. */
function readable(method: ListMethod, view: Buffer): Buffer {
  if (method !== TOOLS_LIST) return Buffer.from(view);
  const schema = lastMember(view, 0, view.length, 'inputSchema');
  if (schema !== undefined && view[schema.valueStart] === OPEN_BRACE) return Buffer.from(view);
  return editObject(view, 0, view.length, { set: new Map([['inputSchema', ANY_ARGUMENTS]]) });
}
