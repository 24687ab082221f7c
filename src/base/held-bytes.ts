// One budget for all bytes that the gateway holds for anybody: bodies, calls that wait, answers that
// a client does not read, events for resumption, lists. Each holder says whose bytes they are. Beyond
// its share an owner gets no more; beyond the whole, the owner that holds most loses what it holds longest
// of its large holdings, so that one owner's bulk costs that owner and nobody else.

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
  /** What clients said of themselves. */
  'session',
  /** What clients watch. */
  'subscription',
  /** Lists of tools, prompts and resources, and what is made of them. */
  'list',
] as const;

export type HeldKind = (typeof HELD_KINDS)[number];

const MIB = 1024 ** 2;
/** What is held may take so much of the memory that there is: it costs more than it has bytes. */
const PART_OF_MEMORY = 8;
const LEAST_BYTES = 32 * MIB;
const MOST_BYTES = 1024 * MIB;

/** Larger holdings can be cut by themselves; smaller ones are only counted. */
export const LARGE_HOLDING = 64 * 1024;

export interface HeldLimits {
  /** Of all owners. */
  readonly limitBytes: number;
  /** Of one owner. */
  readonly shareBytes: number;
}

/**
 * The limits of a gateway: each owner may hold a quarter of all, and at least two of the largest messages.
 * @param memoryBytes that the process may have
 * @param maxBodyBytes of the largest message
 * @param limitBytes where somebody has set it
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
 * looked up each time, and kept no longer than what is held: one that holds nothing may be forgotten.
 */
export class HeldOwner {
  /** Changed by the budget only. */
  shareBytes: number;
  /** Whether it may hold as much as all together. */
  readonly hasAll: boolean;
  readonly #budget: HeldBytes;
  /** The oldest first. */
  readonly #holdings = new Set<OwnedHolding>();
  #bytes = 0;

  constructor(budget: HeldBytes, hasAll: boolean) {
    this.#budget = budget;
    this.hasAll = hasAll;
    this.shareBytes = hasAll ? budget.limitBytes : budget.shareBytes;
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
    this.#bytes += bytes;
    this.#budget.count(kind, bytes);
  }

  remove(kind: HeldKind, bytes: number): void {
    this.#bytes -= bytes;
    this.#budget.count(kind, -bytes);
  }

  /**
   * Holds something large, and makes room by cutting the largest owner if the whole is exceeded.
   * @param cut told when it has to go, maybe before this returns; the bytes are given back already
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
    this.add(holding.kind, more);
    if (more > 0) this.#budget.relieve();
  }

  /** For holdings only. */
  release(holding: OwnedHolding): void {
    if (!this.#holdings.delete(holding)) return;
    this.remove(holding.kind, holding.bytes);
  }

  /**
   * Cuts the oldest of its largest holdings: what has waited longest is least likely to be on its way.
   * @returns its kind, or undefined when there is nothing to cut
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

/** Finds an owner: one that holds nothing may be forgotten, so it is looked up each time. */
export type FindOwner = () => HeldOwner;

/** What is held of one thing that may grow, again and again. Counts only, while it is small. */
export class HeldAmount {
  readonly #find: FindOwner;
  readonly #kind: HeldKind;
  readonly #cut: () => void;
  #counted = 0;
  #holding: Holding | undefined;

  /** @param cut told when it has to go, maybe before `set` returns; the bytes are given back already */
  constructor(find: FindOwner, kind: HeldKind, cut: () => void) {
    this.#find = find;
    this.#kind = kind;
    this.#cut = cut;
  }

  /** It is so large now. */
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

  /** Gives the bytes back. */
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
    // It may be what gave way.
    if (!isCut) this.#holding = holding;
  }
}

/** How many owners there may be before those that hold nothing are forgotten. */
const MANY_OWNERS = 1024;

/** A client, for whom something is held. */
export interface HeldClient {
  readonly key: string;
  readonly kind?: string | undefined;
  /** What it shares its part with others under; by default its key. */
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

  /** @param cut told of each holding that was cut */
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

  /** Owners that hold anything. */
  get owners(): number {
    let count = 0;
    for (const { bytes } of this.#all()) if (bytes > 0) count++;
    return count;
  }

  /**
   * A client as an owner. Without authentication all clients are one principal, which may then have
   * everything.
   */
  client({ key: own, kind, quotaKey }: HeldClient): HeldOwner {
    const key = quotaKey ?? own;
    const isAnonymous = kind === undefined || kind === 'anonymous';
    return this.#clients.get(key) ?? this.#open(this.#clients, key, isAnonymous);
  }

  /** A configured server as an owner. */
  server(name: string): HeldOwner {
    return this.#servers.get(name) ?? this.#open(this.#servers, name, true);
  }

  /** For owners only. */
  count(kind: HeldKind, bytes: number): void {
    this.#total += bytes;
    this.#byKind[kind] += bytes;
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

  #open(owners: Map<string, HeldOwner>, key: string, hasAll: boolean): HeldOwner {
    if (owners.size >= this.#tidyAt) this.#prune(owners);
    const owner = new HeldOwner(this, hasAll);
    owners.set(key, owner);
    return owner;
  }

  /** Forgets those that hold nothing. */
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

  /** Among those with anything that can be cut. */
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

/** Where there is one client only, nobody is kept from anything. */
export const UNBOUNDED = new HeldBytes({
  limitBytes: Number.POSITIVE_INFINITY,
  shareBytes: Number.POSITIVE_INFINITY,
});
