// One budget for all bytes that the gateway holds for anybody: bodies, calls that wait, answers that
// a client does not read, events for resumption, lists. Each holder says whose bytes they are. Beyond
// its share an owner gets no more; beyond the whole, the owner that holds most loses its largest
// holding, so that one owner's bulk costs that owner and nobody else.

/** What bytes are held for; the values of the label `kind` of the metric. */
export const HELD_KINDS = [
  /** Request bodies and messages of clients on their way in. */
  'body',
  /** Requests of clients that are not answered yet. */
  'call',
  /** Messages that a server has not taken yet. */
  'to_server',
  /** Messages of servers that have not arrived whole. */
  'from_server',
  /** Sent to a client that has not read it. */
  'unread',
  /** Kept for clients that come back: events of streams, messages while no stream is open. */
  'replay',
  /** Calls that wait for their client's next request, and tasks. */
  'suspended',
  /** What clients watch. */
  'subscription',
  /** Lists of tools, prompts and resources, and what is made of them. */
  'list',
] as const;

export type HeldKind = (typeof HELD_KINDS)[number];

/** One large thing that is held. */
export interface Holding {
  /** What it holds from now on, in bytes. */
  resize(bytes: number): void;
  /** Gives the bytes back. Safe to call twice. */
  release(): void;
}

class OwnedHolding implements Holding {
  readonly #owner: HeldOwner;
  readonly kind: HeldKind;
  readonly cut: () => void;
  bytes: number;

  constructor(owner: HeldOwner, kind: HeldKind, bytes: number, cut: () => void) {
    this.#owner = owner;
    this.kind = kind;
    this.bytes = bytes;
    this.cut = cut;
  }

  resize(bytes: number): void {
    this.#owner.resize(this, bytes);
  }

  release(): void {
    this.#owner.release(this);
  }
}

/**
 * Whose bytes: a principal, or a server. Counts in plain numbers, since every call passes here. To be
 * looked up each time, and kept no longer than what is held: one that holds nothing is forgotten.
 */
export class HeldOwner {
  readonly key: string;
  readonly shareBytes: number;
  readonly #budget: HeldBytes;
  readonly #holdings = new Set<OwnedHolding>();
  #bytes = 0;

  constructor(budget: HeldBytes, key: string, shareBytes: number) {
    this.#budget = budget;
    this.key = key;
    this.shareBytes = shareBytes;
  }

  /** All that is held for it. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What can be cut by itself. */
  get largeHoldings(): number {
    return this.#holdings.size;
  }

  /**
   * Whether it may hold that much more. Others lose what they hold beyond the whole, if they hold more
   * than this one would.
   */
  hasRoom(bytes: number): boolean {
    if (this.#bytes + bytes > this.shareBytes) return false;
    return this.#budget.hasRoomFor(this, bytes);
  }

  /** Counts small things; `remove` takes them out again. Never refused: ask `hasRoom` before. */
  add(kind: HeldKind, bytes: number): void {
    if (this.#bytes === 0) this.#budget.noteOwner(this);
    this.#bytes += bytes;
    this.#budget.count(kind, bytes);
  }

  remove(kind: HeldKind, bytes: number): void {
    this.#bytes -= bytes;
    this.#budget.count(kind, -bytes);
    if (this.#bytes === 0) this.#budget.forgetOwner(this);
  }

  /**
   * Holds something large, and makes room by cutting the largest owner if the whole is exceeded.
   * @param cut told when it has to go; the bytes are given back already
   */
  hold(kind: HeldKind, bytes: number, cut: () => void): Holding {
    const holding = new OwnedHolding(this, kind, bytes, cut);
    this.#holdings.add(holding);
    this.add(kind, bytes);
    this.#budget.relieve();
    return holding;
  }

  /** For holdings only. */
  resize(holding: OwnedHolding, bytes: number): void {
    if (!this.#holdings.has(holding)) return;
    const more = bytes - holding.bytes;
    holding.bytes = bytes;
    if (more > 0) this.add(holding.kind, more);
    else this.remove(holding.kind, -more);
    if (more > 0) this.#budget.relieve();
  }

  /** For holdings only. */
  release(holding: OwnedHolding): void {
    if (!this.#holdings.delete(holding)) return;
    this.remove(holding.kind, holding.bytes);
  }

  /** Cuts its largest holding. @returns its kind, or undefined when there is nothing to cut */
  cutLargest(): HeldKind | undefined {
    let largest: OwnedHolding | undefined;
    for (const holding of this.#holdings) {
      if (largest === undefined || holding.bytes > largest.bytes) largest = holding;
    }
    if (largest === undefined) return undefined;
    this.release(largest);
    largest.cut();
    return largest.kind;
  }
}

/** The budget of one gateway. */
export class HeldBytes {
  readonly limitBytes: number;
  readonly shareBytes: number;
  readonly #cut: (kind: HeldKind) => void;
  readonly #byKind: Record<HeldKind, number>;
  /** Those that hold anything. */
  readonly #owners = new Map<string, HeldOwner>();
  #total = 0;

  /**
   * @param limitBytes of all owners
   * @param shareBytes of one owner
   * @param cut told of each holding that was cut
   */
  constructor(
    limits: { readonly limitBytes: number; readonly shareBytes: number },
    cut: (kind: HeldKind) => void = () => undefined,
  ) {
    this.limitBytes = limits.limitBytes;
    this.shareBytes = Math.min(limits.shareBytes, limits.limitBytes);
    this.#cut = cut;
    this.#byKind = Object.fromEntries(HELD_KINDS.map((kind) => [kind, 0])) as typeof this.byKind;
  }

  get total(): number {
    return this.#total;
  }

  get byKind(): Record<HeldKind, number> {
    return this.#byKind;
  }

  /** Owners that hold anything. */
  get owners(): number {
    return this.#owners.size;
  }

  /**
   * A client as an owner. Without authentication all clients are one principal, which may then have
   * everything.
   */
  client({ key, kind }: { readonly key: string; readonly kind?: string }): HeldOwner {
    const name = `client ${key}`;
    const share = kind === undefined ? this.limitBytes : this.shareBytes;
    return this.#owners.get(name) ?? new HeldOwner(this, name, share);
  }

  /** A configured server as an owner. */
  server(name: string): HeldOwner {
    const key = `server ${name}`;
    return this.#owners.get(key) ?? new HeldOwner(this, key, this.limitBytes);
  }

  /** For owners only. */
  count(kind: HeldKind, bytes: number): void {
    this.#total += bytes;
    this.#byKind[kind] += bytes;
  }

  /** For owners only. */
  noteOwner(owner: HeldOwner): void {
    this.#owners.set(owner.key, owner);
  }

  /** For owners only. */
  forgetOwner(owner: HeldOwner): void {
    if (this.#owners.get(owner.key) === owner) this.#owners.delete(owner.key);
  }

  /** For owners only: see `HeldOwner.hasRoom`. */
  hasRoomFor(asker: HeldOwner, bytes: number): boolean {
    while (this.#total + bytes > this.limitBytes) {
      const largest = this.#largest();
      if (largest === undefined || largest === asker) return false;
      if (largest.bytes <= asker.bytes + bytes || !this.#cutOf(largest)) return false;
    }
    return true;
  }

  /** For owners only: cuts until the whole is kept again. */
  relieve(): void {
    while (this.#total > this.limitBytes) {
      const largest = this.#largest();
      if (largest === undefined || !this.#cutOf(largest)) return;
    }
  }

  #cutOf(owner: HeldOwner): boolean {
    const kind = owner.cutLargest();
    if (kind === undefined) return false;
    this.#cut(kind);
    return true;
  }

  /** Among those with anything that can be cut. */
  #largest(): HeldOwner | undefined {
    let largest: HeldOwner | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.largeHoldings === 0) continue;
      if (largest === undefined || owner.bytes > largest.bytes) largest = owner;
    }
    return largest;
  }
}
