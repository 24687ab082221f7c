// One budget for all bytes that the gateway holds: bodies, waiting calls, responses that a client does not
// read, events for resumption, lists. All bytes have an owner: a principal or a server. An owner gets no more
// than its share. If the whole budget is exceeded, the owner that holds most loses the oldest of its large
// holdings. So one owner's load costs no other owner anything.

/** What bytes are held for: the values of the metric label `kind`. */
export const HELD_KINDS = [
  /** Request bodies and messages that are being received from clients. */
  'body',
  /** Requests of clients that are not answered yet. */
  'call',
  /** Messages that a server has not read yet. */
  'to_server',
  /** Incomplete messages of servers. */
  'from_server',
  /** Sent to a client that has not read it. */
  'unread',
  /** Kept for clients that resume: events of streams, and messages while no stream is open. */
  'replay',
  /** Suspended calls, and tasks. */
  'suspended',
  /** What clients said about themselves. */
  'session',
  /** What clients watch. */
  'subscription',
  /** Lists of tools, prompts and resources, and what is derived from them. */
  'list',
] as const;

export type HeldKind = (typeof HELD_KINDS)[number];

const MIB = 1024 ** 2;
/** The part of the available memory that may be held. A held byte costs more than one byte. */
const PART_OF_MEMORY = 8;
const LEAST_BYTES = 32 * MIB;
const MOST_BYTES = 1024 * MIB;

/** Holdings of this size can be dropped one by one; smaller ones are only counted. */
export const LARGE_HOLDING = 64 * 1024;

/** The limits of a gateway. */
export interface HeldLimits {
  /** For all owners together. */
  readonly limitBytes: number;
  /** For one owner. */
  readonly shareBytes: number;
}

/**
 * Computes the limits: an owner may hold a quarter of the whole, and at least two of the largest messages.
 * @param memoryBytes what the process may use
 * @param maxBodyBytes the size of the largest message
 * @param limitBytes the configured limit; undefined: a part of the memory
 */
export function heldLimits(
  memoryBytes: number,
  maxBodyBytes: number,
  limitBytes?: number,
): HeldLimits {
  const part = Math.floor(memoryBytes / PART_OF_MEMORY);
  const fitting = Math.min(Math.max(part, LEAST_BYTES), MOST_BYTES);
  const all = limitBytes ?? Math.max(fitting, 4 * maxBodyBytes);
  return { limitBytes: all, shareBytes: Math.max(Math.floor(all / 4), 2 * maxBodyBytes) };
}

/** One large thing that is held. */
export interface Holding {
  /** Changes the number of bytes that it holds. */
  resize(bytes: number): void;
  /** Returns the bytes to the budget. Safe to call twice. */
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
 * The owner of bytes: a principal or a server. It counts in plain numbers, because every call passes here.
 * Callers look it up each time, and keep it only while they hold something: an owner that holds nothing may
 * be dropped.
 */
export class HeldOwner {
  /** Changed by the budget only. */
  shareBytes: number;
  /** Whether it may hold as much as all together. */
  readonly hasAll: boolean;
  readonly #budget: HeldBytes;
  /** Oldest first. */
  readonly #holdings = new Set<OwnedHolding>();
  #bytes = 0;

  constructor(budget: HeldBytes, hasAll: boolean) {
    this.#budget = budget;
    this.hasAll = hasAll;
    this.shareBytes = hasAll ? budget.limitBytes : budget.shareBytes;
  }

  /** All bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of holdings that can be dropped. */
  get largeHoldings(): number {
    return this.#holdings.size;
  }

  /**
   * Whether it may hold that many more bytes. If the budget is full, other owners that hold more than this
   * one would lose holdings.
   */
  hasRoom(bytes: number): boolean {
    if (this.#bytes + bytes > this.shareBytes) return false;
    return this.#budget.hasRoomFor(this, bytes);
  }

  /** Counts small things, until `remove`. Never refused: ask `hasRoom` before. */
  add(kind: HeldKind, bytes: number): void {
    this.#bytes += bytes;
    this.#budget.count(kind, bytes);
  }

  /** Undoes `add`. */
  remove(kind: HeldKind, bytes: number): void {
    this.#bytes -= bytes;
    this.#budget.count(kind, -bytes);
  }

  /**
   * Holds something large. If the budget is then exceeded, the largest owner loses a holding.
   * @param cut called when this holding is dropped, possibly before this method returns; its bytes are
   *   returned already
   */
  hold(kind: HeldKind, bytes: number, cut: () => void): Holding {
    const holding = new OwnedHolding(this, kind, bytes, cut);
    this.#holdings.add(holding);
    this.add(kind, bytes);
    this.#budget.relieve();
    return holding;
  }

  /** Only for holdings. */
  resize(holding: OwnedHolding, bytes: number): void {
    if (!this.#holdings.has(holding)) return;
    const more = bytes - holding.bytes;
    holding.bytes = bytes;
    this.add(holding.kind, more);
    if (more > 0) this.#budget.relieve();
  }

  /** Only for holdings. */
  release(holding: OwnedHolding): void {
    if (!this.#holdings.delete(holding)) return;
    this.remove(holding.kind, holding.bytes);
  }

  /**
   * Drops the oldest of its largest holdings: what has waited longest is least likely to be needed soon.
   * @returns its kind, or undefined if it has none
   */
  cutOne(): HeldKind | undefined {
    let most = 0;
    for (const { bytes } of this.#holdings) most = Math.max(most, bytes);
    for (const holding of this.#holdings) {
      if (holding.bytes < most / 2) continue;
      this.release(holding);
      holding.cut();
      return holding.kind;
    }
    return undefined;
  }
}

/** Looks up an owner; see `HeldOwner` for why it is not kept. */
export type FindOwner = () => HeldOwner;

/** The bytes of one thing whose size changes. While it is small, it is only counted. */
export class HeldAmount {
  readonly #find: FindOwner;
  readonly #kind: HeldKind;
  readonly #cut: () => void;
  #counted = 0;
  #holding: Holding | undefined;

  /** @param cut called when it is dropped, possibly before `set` returns; its bytes are returned already */
  constructor(find: FindOwner, kind: HeldKind, cut: () => void) {
    this.#find = find;
    this.#kind = kind;
    this.#cut = cut;
  }

  /** Sets its size in bytes. */
  set(bytes: number): void {
    if (this.#holding !== undefined && bytes > 0) {
      this.#holding.resize(bytes);
    } else if (bytes <= LARGE_HOLDING) {
      this.#count(bytes);
    } else {
      this.#count(0);
      this.#hold(bytes);
    }
  }

  /** Returns the bytes to the budget. */
  release(): void {
    this.#count(0);
  }

  #count(bytes: number): void {
    this.#holding?.release();
    this.#holding = undefined;
    if (bytes === this.#counted) return;
    this.#find().add(this.#kind, bytes - this.#counted);
    this.#counted = bytes;
  }

  #hold(bytes: number): void {
    let isCut = false;
    const holding = this.#find().hold(this.#kind, bytes, () => {
      isCut = true;
      this.#holding = undefined;
      this.#cut();
    });
    // It may itself be what was dropped.
    if (!isCut) this.#holding = holding;
  }
}

/** With more owners than this, those that hold nothing are dropped. */
const MANY_OWNERS = 1024;

/** A client, for whom something is held. */
export interface HeldClient {
  readonly key: string;
  readonly kind?: string | undefined;
  /** Clients with the same value share one quota; by default the key. */
  readonly quotaKey?: string | undefined;
}

/** The budget of one gateway. */
export class HeldBytes {
  /** Changed by `obey` only, as is the share. */
  limitBytes: number;
  shareBytes: number;
  readonly #cut: (kind: HeldKind) => void;
  readonly #byKind: Record<HeldKind, number>;
  readonly #clients = new Map<string, HeldOwner>();
  readonly #servers = new Map<string, HeldOwner>();
  #total = 0;
  #tidyAt = MANY_OWNERS;

  /** @param cut called for each holding that was dropped */
  constructor(
    { limitBytes, shareBytes }: HeldLimits,
    cut: (kind: HeldKind) => void = () => undefined,
  ) {
    this.limitBytes = limitBytes;
    this.shareBytes = Math.min(shareBytes, limitBytes);
    this.#cut = cut;
    this.#byKind = Object.fromEntries(HELD_KINDS.map((kind) => [kind, 0])) as typeof this.byKind;
  }

  /** From now on there is another limit: what is beyond it is cut. */
  obey({ limitBytes, shareBytes }: HeldLimits): void {
    this.limitBytes = limitBytes;
    this.shareBytes = Math.min(shareBytes, limitBytes);
    for (const owner of this.#all()) {
      owner.shareBytes = owner.hasAll ? this.limitBytes : this.shareBytes;
    }
    this.relieve();
  }

  get total(): number {
    return this.#total;
  }

  get byKind(): Readonly<Record<HeldKind, number>> {
    return this.#byKind;
  }

  /** The number of owners that hold something. */
  get owners(): number {
    let count = 0;
    for (const { bytes } of this.#all()) if (bytes > 0) count++;
    return count;
  }

  /**
   * The owner for a client. Without authentication all clients are one principal, which may use the whole
   * budget.
   */
  client({ key: own, kind, quotaKey }: HeldClient): HeldOwner {
    const key = quotaKey ?? own;
    const isAnonymous = kind === undefined || kind === 'anonymous';
    return this.#clients.get(key) ?? this.#open(this.#clients, key, isAnonymous);
  }

  /** The owner for a configured server. */
  server(name: string): HeldOwner {
    return this.#servers.get(name) ?? this.#open(this.#servers, name, true);
  }

  /** Only for owners. */
  count(kind: HeldKind, bytes: number): void {
    this.#total += bytes;
    this.#byKind[kind] += bytes;
  }

  /** Only for owners: see `HeldOwner.hasRoom`. */
  hasRoomFor(asker: HeldOwner, bytes: number): boolean {
    while (this.#total + bytes > this.limitBytes) {
      const largest = this.#largest();
      if (largest === undefined || largest === asker) return false;
      if (largest.bytes <= asker.bytes + bytes || !this.#cutOf(largest)) return false;
    }
    return true;
  }

  /** Only for owners: drops holdings until the budget is kept. */
  relieve(): void {
    while (this.#total > this.limitBytes) {
      const largest = this.#largest();
      if (largest === undefined || !this.#cutOf(largest)) return;
    }
  }

  #open(owners: Map<string, HeldOwner>, key: string, hasAll: boolean): HeldOwner {
    if (owners.size >= this.#tidyAt) this.#prune(owners);
    const owner = new HeldOwner(this, hasAll);
    owners.set(key, owner);
    return owner;
  }

  /** Drops owners that hold nothing. */
  #prune(owners: Map<string, HeldOwner>): void {
    for (const [key, { bytes, largeHoldings }] of owners) {
      if (bytes === 0 && largeHoldings === 0) owners.delete(key);
    }
    this.#tidyAt = Math.max(MANY_OWNERS, 2 * owners.size);
  }

  #cutOf(owner: HeldOwner): boolean {
    const kind = owner.cutOne();
    if (kind === undefined) return false;
    this.#cut(kind);
    return true;
  }

  /** The largest owner that has a holding to drop. */
  #largest(): HeldOwner | undefined {
    let largest: HeldOwner | undefined;
    for (const owner of this.#all()) {
      if (owner.largeHoldings === 0) continue;
      if (largest === undefined || owner.bytes > largest.bytes) largest = owner;
    }
    return largest;
  }

  *#all(): Iterable<HeldOwner> {
    yield* this.#clients.values();
    yield* this.#servers.values();
  }
}

/** For a gateway with only one client: nobody else needs the memory. */
export const UNBOUNDED = new HeldBytes({
  limitBytes: Number.POSITIVE_INFINITY,
  shareBytes: Number.POSITIVE_INFINITY,
});
