// One list of one server as it was read: a value. Equal ones are one object (see ServerLists), so
// whatever is made of lists can be kept by what they are.
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

const MAX_PAGES = 256;
export const MAX_ENTRIES = 10_000;
export const MAX_BYTES = 16 * 1024 * 1024;
/** The most that one entry may have. */
export const MAX_ENTRY_BYTES = 2 * 1024 * 1024;
/** A page of so many bytes takes a while to look through. */
const LARGE_BYTES = 1024 * 1024;
/** What of the lists of all servers is read in one turn of the event loop. */
const IN_TURN = listWork();
/** A number that says for how long a list holds has no more digits. */
const MAX_TTL_DIGITS = 32;

/** A list while its pages are read. Nothing is made of what there is no room for. */
export class ReadPages {
  pages = 0;
  /** The cursor of the next page. */
  next: string | undefined;
  /** Entries that were left out, since what names them is longer than base/text-limits.ts has it. */
  tooLong = 0;
  /** Entries that were left out, since they are larger than anything that describes a tool. */
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

  /** Whether there is nothing more to be read. */
  get isWhole(): boolean {
    return this.next === undefined && !this.#isFull;
  }

  /**
   * Reads a page, in several turns of the event loop where it is large. Entries that have no name, or too
   * long a one, can't be used and are left out.
   * @returns false when it is an error, or no list
   */
  async add({ bytes, resultStart, resultEnd }: Frame): Promise<boolean> {
    if (resultStart < 0) return false;
    // It was scanned in this turn, which takes as long as to find what is read of it.
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
    // Copied: a view would keep the whole message.
    else this.#entries.push({ name, text: readable(this.#method, view) });
  }

  /** Whether the next page may be asked for: none twice, and not without end. */
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

/** Clients drop a whole list for one tool without a schema: it gets one that says nothing. */
function readable(method: ListMethod, view: Buffer): Buffer {
  if (method !== TOOLS_LIST) return Buffer.from(view);
  const schema = lastMember(view, 0, view.length, 'inputSchema');
  if (schema !== undefined && view[schema.valueStart] === OPEN_BRACE) return Buffer.from(view);
  return editObject(view, 0, view.length, { set: new Map([['inputSchema', ANY_ARGUMENTS]]) });
}
