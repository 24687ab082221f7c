// The different lists of one server that are known: each is one object, however many instances have it.
// They count as held for the server, and are dropped when too much is held, or when many newer ones came:
// whoever needs such a list reads it again.
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';
import type { ServerList } from './server-list.ts';

/** So many are kept however long they are. */
const FEW = 64;
/** More of them while all are no longer than this: private instances may have lists of their own. */
const MANY = 1_024;
const MANY_BYTES = 8 * 1024 * 1024;
/** What an entry costs besides its text. */
const ENTRY_BYTES = 256;

/** A list, while it is kept. */
export class KeptList {
  #list: ServerList | undefined;
  readonly bytes: number;

  constructor(list: ServerList) {
    this.#list = list;
    let bytes = 0;
    for (const { name, text } of list.entries) bytes += 2 * name.length + text.length + ENTRY_BYTES;
    this.bytes = bytes;
  }

  /** Undefined once it was dropped. */
  get list(): ServerList | undefined {
    return this.#list;
  }

  drop(): void {
    this.#list = undefined;
  }
}

interface CountedList {
  readonly kept: KeptList;
  readonly held: HeldAmount;
}

/** Lists by what is in them. */
export class DistinctLists {
  readonly #owner: FindOwner;
  /** By digest, the one first that was not read for longest. */
  readonly #lists = new Map<string, CountedList>();
  #bytes = 0;

  constructor(owner: FindOwner) {
    this.#owner = owner;
  }

  /** The list that is known by this digest, or this one from now on. */
  keep(digest: string, list: ServerList): KeptList {
    const known = this.#lists.get(digest);
    if (known !== undefined) {
      this.#lists.delete(digest);
      this.#lists.set(digest, known);
      return known.kept;
    }
    const kept = new KeptList(list);
    const held = new HeldAmount(this.#owner, 'list', () => this.#drop(digest));
    this.#lists.set(digest, { kept, held });
    this.#bytes += kept.bytes;
    held.set(kept.bytes);
    this.#bound();
    return kept;
  }

  #bound(): void {
    for (const digest of this.#lists.keys()) {
      const { size } = this.#lists;
      if (size <= FEW || (size <= MANY && this.#bytes <= MANY_BYTES)) return;
      this.#drop(digest);
    }
  }

  #drop(digest: string): void {
    const counted = this.#lists.get(digest);
    if (counted === undefined) return;
    this.#lists.delete(digest);
    this.#bytes -= counted.kept.bytes;
    counted.held.release();
    counted.kept.drop();
  }
}
