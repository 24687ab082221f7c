// The different lists of one server. Equal lists are one object, however many instances have it. They count
// as held for the server, and are dropped if too much is held or many newer ones arrive. Code that needs a
// dropped list reads it again.
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';
import type { ServerList } from './server-list.ts';

/** This many are kept in any case, whatever their size. */
const FEW = 64;
/**
 * More are kept while their total size is below this limit, because private instances may have different
 * lists.
 */
const MANY = 1_024;
const MANY_BYTES = 8 * 1024 * 1024;
/** The cost of an entry in addition to its text. */
const ENTRY_BYTES = 256;

/** A list that is kept. */
export class KeptList {
  /** Undefined once it was dropped. */
  list: ServerList | undefined;
  readonly bytes: number;
  /** Counts its bytes. */
  held: HeldAmount | undefined;

  constructor(list: ServerList) {
    this.list = list;
    let bytes = 0;
    for (const { name, text } of list.entries) bytes += 2 * name.length + text.length + ENTRY_BYTES;
    this.bytes = bytes;
  }
}

/** Lists by their content. */
export class DistinctLists {
  readonly #owner: FindOwner;
  /** By digest; the list that was read longest ago is first. */
  readonly #lists = new Map<string, KeptList>();
  #bytes = 0;

  constructor(owner: FindOwner) {
    this.#owner = owner;
  }

  /** The list that is already kept under this digest, or this one. */
  keep(digest: string, list: ServerList): KeptList {
    const known = this.#lists.get(digest);
    if (known !== undefined) {
      this.#lists.delete(digest);
      this.#lists.set(digest, known);
      return known;
    }
    const kept = new KeptList(list);
    kept.held = new HeldAmount(this.#owner, 'list', () => this.#drop(digest));
    this.#lists.set(digest, kept);
    this.#bytes += kept.bytes;
    kept.held.set(kept.bytes);
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
    const kept = this.#lists.get(digest);
    if (kept === undefined) return;
    this.#lists.delete(digest);
    this.#bytes -= kept.bytes;
    kept.held?.release();
    kept.list = undefined;
  }
}
