// A list of an endpoint, under the names that clients see. It is a value made from the servers' lists. It
// finds the server of an entry, and renders the list in pages.
import { eachItem, type StepsTo } from '../base/steps.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { contentDigest } from './content-digest.ts';
import { LISTS, type ListMethod } from './list-kinds.ts';
import type { OfferedEntry } from './offered-entry.ts';

export type Era = 'legacy' | 'modern';

/** Most clients never request a second page, so pages are as large as is reasonable. */
const PAGE_ENTRIES = 1_000;
const PAGE_BYTES = 2 * 1024 * 1024;
const DIGEST_CHARS = 16;
const COMMA = Buffer.from(',');

/** A list of an endpoint. */
export class Listing {
  readonly method: ListMethod;
  readonly entries: readonly OfferedEntry[];
  readonly #byName = new Map<string, OfferedEntry>();
  readonly #pages = new Map<string, Buffer>();
  #starts: ReadonlySet<number> | undefined;
  #digest: string | undefined;

  private constructor(method: ListMethod, entries: readonly OfferedEntry[]) {
    this.method = method;
    this.entries = entries;
  }

  static *of(method: ListMethod, entries: readonly OfferedEntry[]): StepsTo<Listing> {
    const listing = new Listing(method, entries);
    yield* eachItem(entries, (entry) => listing.#byName.set(entry.name, entry));
    return listing;
  }

  /** The entry with a name; undefined if there is none. */
  find(name: string): OfferedEntry | undefined {
    return this.#byName.get(name);
  }

  /** A digest of the content; part of cursors. */
  *digest(): StepsTo<string> {
    this.#digest ??= (yield* contentDigest(this.#content())).slice(0, DIGEST_CHARS);
    return this.#digest;
  }

  /**
   * Whether it has this digest. False if `digest` was never called, because then no client can have a cursor
   * with it.
   */
  hasGiven(digest: string): boolean {
    return this.#digest === digest;
  }

  /** Everything that its pages are made of. */
  *#content(): Iterable<string | Buffer> {
    yield this.method;
    for (const { name, ownText } of this.entries) {
      yield name;
      yield ownText;
    }
  }

  /**
   * A page: `{"tools":[...]}`, with `nextCursor` if there are more. Always the same buffer for the same page.
   * @param start index of its first entry, from a cursor
   * @param head the beginning of all results of that era
   */
  *page(start: number, era: Era, head = '{'): StepsTo<Buffer> {
    const key = `${era} ${start}`;
    let page = this.#pages.get(key);
    if (page === undefined) {
      page = yield* this.#render(start, era, head);
      this.#pages.set(key, page);
    }
    return page;
  }

  /** Whether a page begins at this index. */
  isPageStart(start: number): boolean {
    this.#starts ??= this.#pageStarts();
    return this.#starts.has(start);
  }

  #pageStarts(): ReadonlySet<number> {
    const starts = new Set([0]);
    for (let at = this.#endOfPage(0); at < this.entries.length; at = this.#endOfPage(at)) {
      starts.add(at);
    }
    return starts;
  }

  #endOfPage(start: number): number {
    let bytes = 0;
    let end = start;
    while (end < this.entries.length && end - start < PAGE_ENTRIES) {
      bytes += this.entries[end]?.ownText.length ?? 0;
      if (bytes > PAGE_BYTES && end > start) break;
      end++;
    }
    return end;
  }

  *#render(start: number, era: Era, head: string): StepsTo<Buffer> {
    const end = this.#endOfPage(start);
    const parts: Buffer[] = [Buffer.from(`${head}"${LISTS[this.method].member}":[`)];
    const add = (entry: OfferedEntry): void => {
      if (parts.length > 1) parts.push(COMMA);
      parts.push(era === 'modern' ? entry.modernText : entry.legacyText);
    };
    yield* eachItem(this.entries.slice(start, end), add, ({ ownText }) => ownText.length);
    const isLast = end >= this.entries.length;
    const next = isLast ? '' : `,"nextCursor":${jsonText(cursorOf(yield* this.digest(), end))}`;
    parts.push(Buffer.from(`]${next}}`));
    return Buffer.concat(parts);
  }
}

const CURSOR = /^([A-Za-z0-9_-]{16})\.(\d{1,9})$/;

function cursorOf(digest: string, start: number): string {
  return Buffer.from(`${digest}.${start}`).toString('base64url');
}

/** A position in a list, and the state of the list that it refers to. */
export interface ListPosition {
  readonly digest: string;
  readonly start: number;
}

/** Reads a cursor; undefined if it is not a cursor of the gateway. */
export function readCursor(cursor: string): ListPosition | undefined {
  const match = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  const [, digest, start] = match ?? [];
  return digest === undefined ? undefined : { digest, start: Number(start) };
}
