// Which client watches what at one instance, for one kind of things: resources by URI, or tasks by the
// server's id. Each kind has its own table, because a client may use any text as a URI. A modern server gets
// all of it at each change, so it is limited: for a client, for all clients of a principal, so that none
// keeps others out, and in total. The cost for a client depends only on what it watches itself; only telling
// a server reads everything.

import type { HeldOwner } from '../base/held-bytes.ts';
import type { WireError } from '../jsonrpc/error.ts';
import { wireErrorOf } from '../mcp/errors.ts';
import { FAILURES } from '../mcp/failures.ts';
import { WatchedUris } from '../mcp/subscription.ts';
import type { Downstream } from '../ports/downstream.ts';
import { type Principal, quotaKeyOf } from '../ports/principal.ts';

const KIB = 1_024;
/** What one client may watch, and all clients of a principal. */
const MAX_COUNT = 1_000;
const MAX_PRINCIPAL_COUNT = 10_000;
const MAX_CLIENT_BYTES = 256 * KIB;
const MAX_PRINCIPAL_BYTES = 512 * KIB;
const MAX_BYTES = 2_048 * KIB;
/** The cost of one watched thing in addition to its text. */
const ENTRY_BYTES = 256;

/** A client that may get notifications. */
export interface Subscriber {
  readonly client: Downstream;
  /** The least severity that it wants; undefined if it has set none. */
  severity: number | undefined;
  /** Called when the server can be used again. */
  readonly onUp: (() => void) | undefined;
}

interface WatchedItem {
  readonly watchers: Set<Subscriber>;
  readonly bytes: number;
  /** The principal of the first client. It counts for this principal until nobody watches it. */
  readonly payer: string;
  /** The server's answer, while it is awaited. */
  answer: Promise<WireError | undefined> | undefined;
}

interface ClientEntry {
  readonly watched: Set<string>;
  bytes: number;
}

interface PrincipalEntry {
  readonly principal: Principal;
  /** The number of things that its clients watch, counted for each client. */
  count: number;
  /** The bytes of texts that it was the first to watch. */
  bytes: number;
  /** The bytes that are counted as held for it. */
  held: number;
}

/** Finds the owner of a principal's held bytes. Must be looked up each time. */
export type FindHeldOwner = (principal: Principal) => HeldOwner | undefined;

/** Everything that is watched, with its clients. */
export class Subscriptions {
  readonly #heldFor: FindHeldOwner;
  readonly #watched = new WatchedUris<WatchedItem>();
  readonly #clients = new Map<Subscriber, ClientEntry>();
  readonly #principals = new Map<string, PrincipalEntry>();
  #bytes = 0;

  constructor(heldFor: FindHeldOwner = () => undefined) {
    this.#heldFor = heldFor;
  }

  get size(): number {
    return this.#watched.size;
  }

  /** Everything that is watched. */
  get all(): string[] {
    return [...this.#watched.keys()];
  }

  has(what: string): boolean {
    return this.#watched.get(what) !== undefined;
  }

  watchersOf(what: string): ReadonlySet<Subscriber> {
    return this.#watched.get(what)?.watchers ?? NOBODY;
  }

  /** What a client watches. */
  watchedBy(listener: Subscriber): string[] {
    return [...(this.#clients.get(listener)?.watched ?? [])];
  }

  /** The clients that watch a resource that is `uri`, or that contains it. */
  coveringWatchers(uri: string): ReadonlySet<Subscriber> {
    const [first, ...others] = this.#watched.covering(uri);
    if (first === undefined || others.length === 0) return first?.watchers ?? NOBODY;
    const all = new Set(first.watchers);
    for (const { watchers } of others) for (const listener of watchers) all.add(listener);
    return all;
  }

  /**
   * Starts watching.
   * @returns the error if it is not allowed
   */
  add(listener: Subscriber, what: string): WireError | undefined {
    const known = this.#watched.get(what);
    if (known?.watchers.has(listener) === true) return undefined;
    const bytes = known?.bytes ?? Buffer.byteLength(what);
    const own = this.#clients.get(listener) ?? { watched: new Set(), bytes: 0 };
    const { principal } = listener.client;
    const all = this.#principalOf(principal);
    const refused = this.#refusal(own, all, bytes, known === undefined);
    if (refused !== undefined) return refused;
    own.watched.add(what);
    own.bytes += bytes;
    this.#clients.set(listener, own);
    all.count++;
    this.#principals.set(quotaKeyOf(principal), all);
    this.#hold(all, bytes + ENTRY_BYTES);
    if (known === undefined) this.#open(listener, what, bytes);
    else known.watchers.add(listener);
    return undefined;
  }

  /**
   * Notes that the server is being asked to watch something.
   * @returns must be called with its answer; after an error nobody watches it any more
   */
  ask(what: string): (error: WireError | undefined) => void {
    const watched = this.#watched.get(what);
    const { promise, resolve } = Promise.withResolvers<WireError | undefined>();
    if (watched !== undefined) watched.answer = promise;
    return (error) => {
      if (watched !== undefined) watched.answer = undefined;
      // After all clients had left, a later one may have asked again.
      if (error !== undefined && watched !== undefined && this.#watched.get(what) === watched) {
        for (const listener of [...watched.watchers]) this.remove(listener, what);
      }
      resolve(error);
    };
  }

  /** The server's answer for something that it is being asked to watch; undefined if it has answered. */
  answerFor(what: string): Promise<WireError | undefined> | undefined {
    return this.#watched.get(what)?.answer;
  }

  /** @returns true if nobody watches it any more */
  remove(listener: Subscriber, what: string): boolean {
    const own = this.#clients.get(listener);
    const watched = this.#watched.get(what);
    if (own === undefined || watched?.watchers.delete(listener) !== true) return false;
    own.watched.delete(what);
    own.bytes -= watched.bytes;
    if (own.watched.size === 0) this.#clients.delete(listener);
    this.#leftBy(listener.client.principal, watched);
    if (watched.watchers.size > 0) return false;
    this.#watched.delete(what);
    this.#pay(watched.payer, -watched.bytes);
    return true;
  }

  /**
   * Removes a client.
   * @returns what nobody watches any more
   */
  leave(listener: Subscriber): string[] {
    const own = this.#clients.get(listener);
    if (own === undefined) return [];
    return [...own.watched].filter((what) => this.remove(listener, what));
  }

  clear(): void {
    for (const all of this.#principals.values()) this.#hold(all, -all.held);
    this.#watched.clear();
    this.#clients.clear();
    this.#principals.clear();
    this.#bytes = 0;
  }

  #principalOf(principal: Principal): PrincipalEntry {
    return (
      this.#principals.get(quotaKeyOf(principal)) ?? { principal, count: 0, bytes: 0, held: 0 }
    );
  }

  #leftBy(principal: Principal, { bytes }: WatchedItem): void {
    const all = this.#principals.get(quotaKeyOf(principal));
    if (all === undefined) return;
    all.count--;
    this.#hold(all, -(bytes + ENTRY_BYTES));
    this.#forgetIfNothing(all);
  }

  #open(listener: Subscriber, what: string, bytes: number): void {
    const payer = quotaKeyOf(listener.client.principal);
    this.#watched.set(what, { watchers: new Set([listener]), bytes, payer, answer: undefined });
    this.#pay(payer, bytes);
  }

  // The first client may have left, while clients of other principals still watch what counts for it.
  #pay(payer: string, bytes: number): void {
    this.#bytes += bytes;
    const all = this.#principals.get(payer);
    if (all === undefined) return;
    all.bytes += bytes;
    this.#forgetIfNothing(all);
  }

  #forgetIfNothing({ principal, count, bytes }: PrincipalEntry): void {
    if (count === 0 && bytes === 0) this.#principals.delete(quotaKeyOf(principal));
  }

  #hold(all: PrincipalEntry, bytes: number): void {
    all.held += bytes;
    this.#heldFor(all.principal)?.add('subscription', bytes);
  }

  #refusal(
    own: ClientEntry,
    all: PrincipalEntry,
    bytes: number,
    isNew: boolean,
  ): WireError | undefined {
    if (own.watched.size >= MAX_COUNT) return TOO_MANY;
    if (all.count >= MAX_PRINCIPAL_COUNT) return TOO_MANY_OF_ALL;
    if (own.bytes + bytes > MAX_CLIENT_BYTES) return tooLong('you watch', MAX_CLIENT_BYTES);
    if (this.#heldFor(all.principal)?.hasRoom(bytes + ENTRY_BYTES) === false) return TOO_MUCH_HELD;
    if (!isNew) return undefined;
    if (all.bytes + bytes > MAX_PRINCIPAL_BYTES) {
      return tooLong('all your clients watch', MAX_PRINCIPAL_BYTES);
    }
    return this.#bytes + bytes > MAX_BYTES ? tooLong('all clients watch', MAX_BYTES) : undefined;
  }
}

const NOBODY: ReadonlySet<Subscriber> = new Set();
const TOO_MANY = wireErrorOf(FAILURES.watchesTooMany(MAX_COUNT));
const TOO_MANY_OF_ALL = wireErrorOf(FAILURES.watchesTooManyAtServer(MAX_PRINCIPAL_COUNT));
const TOO_MUCH_HELD = wireErrorOf(FAILURES.watchesTooMuchHeld());

function tooLong(whose: string, maxBytes: number): WireError {
  return wireErrorOf(FAILURES.watchesTooLong(whose, maxBytes / KIB));
}
