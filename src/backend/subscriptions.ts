// Who watches what, of one kind of things at one instance: resources by URI, or tasks by the server's
// id. Each kind has a table of its own, since a client may write any text as a URI. A modern server is
// told all of it at each change, so its bytes have limits: for a client, for all clients of a
// principal, so that nobody keeps the others out, and for all together.
import { INTERNAL_ERROR, type WireError } from '../jsonrpc/error.ts';
import type { Listener } from './fan-out.ts';

const KIB = 1_024;
/** Things that one client may watch. */
const MAX_COUNT = 1_000;
const MAX_CLIENT_BYTES = 256 * KIB;
const MAX_PRINCIPAL_BYTES = 512 * KIB;
const MAX_BYTES = 2_048 * KIB;

interface Watched {
  readonly watchers: Set<Listener>;
  readonly bytes: number;
  /** The principal whose client was the first one: it counts for that one until nobody watches it. */
  readonly payer: string;
}

/** Everything that is watched, and by whom. */
export class Subscriptions {
  readonly #watched = new Map<string, Watched>();
  readonly #clients = new Map<Listener, { count: number; bytes: number }>();
  readonly #principals = new Map<string, number>();
  #bytes = 0;

  get size(): number {
    return this.#watched.size;
  }

  /** What is watched. */
  get all(): string[] {
    return [...this.#watched.keys()];
  }

  has(what: string): boolean {
    return this.#watched.has(what);
  }

  watchersOf(what: string): ReadonlySet<Listener> {
    return this.#watched.get(what)?.watchers ?? new Set();
  }

  *entries(): Iterable<readonly [string, ReadonlySet<Listener>]> {
    for (const [what, { watchers }] of this.#watched) yield [what, watchers];
  }

  /**
   * Watches something.
   * @returns why it may not be watched; undefined: it is
   */
  add(listener: Listener, what: string): WireError | undefined {
    const known = this.#watched.get(what);
    if (known?.watchers.has(listener) === true) return undefined;
    const bytes = Buffer.byteLength(what);
    const own = this.#clients.get(listener) ?? { count: 0, bytes: 0 };
    const refused = this.#refusal(listener, own, bytes, known === undefined);
    if (refused !== undefined) return refused;
    own.count++;
    own.bytes += bytes;
    this.#clients.set(listener, own);
    if (known === undefined) this.#open(listener, what, bytes);
    else known.watchers.add(listener);
    return undefined;
  }

  /** @returns true when nobody watches it any more */
  remove(listener: Listener, what: string): boolean {
    const watched = this.#watched.get(what);
    if (watched?.watchers.delete(listener) !== true) return false;
    const own = this.#clients.get(listener);
    if (own !== undefined) {
      own.count--;
      own.bytes -= watched.bytes;
      if (own.count === 0) this.#clients.delete(listener);
    }
    if (watched.watchers.size > 0) return false;
    this.#watched.delete(what);
    this.#pay(watched.payer, -watched.bytes);
    return true;
  }

  /**
   * Takes a client out.
   * @returns what nobody watches any more
   */
  leave(listener: Listener): string[] {
    if (!this.#clients.has(listener)) return [];
    return this.all.filter((what) => this.remove(listener, what));
  }

  clear(): void {
    this.#watched.clear();
    this.#clients.clear();
    this.#principals.clear();
    this.#bytes = 0;
  }

  #open(listener: Listener, what: string, bytes: number): void {
    const payer = listener.client.principal.key;
    this.#watched.set(what, { watchers: new Set([listener]), bytes, payer });
    this.#pay(payer, bytes);
  }

  #pay(payer: string, bytes: number): void {
    this.#bytes += bytes;
    const sum = (this.#principals.get(payer) ?? 0) + bytes;
    if (sum === 0) this.#principals.delete(payer);
    else this.#principals.set(payer, sum);
  }

  #refusal(
    { client }: Listener,
    own: { readonly count: number; readonly bytes: number },
    bytes: number,
    isNew: boolean,
  ): WireError | undefined {
    if (own.count >= MAX_COUNT) return TOO_MANY;
    if (own.bytes + bytes > MAX_CLIENT_BYTES) return tooLong('you watch', MAX_CLIENT_BYTES);
    if (!isNew) return undefined;
    const paid = this.#principals.get(client.principal.key) ?? 0;
    if (paid + bytes > MAX_PRINCIPAL_BYTES) {
      return tooLong('all your clients watch', MAX_PRINCIPAL_BYTES);
    }
    return this.#bytes + bytes > MAX_BYTES ? tooLong('all clients watch', MAX_BYTES) : undefined;
  }
}

const TOO_MANY = overloaded(`You watch ${MAX_COUNT} resources already`);

function tooLong(whose: string, maxBytes: number): WireError {
  return overloaded(`The URIs that ${whose} at one server may have ${maxBytes / KIB} KiB in all`);
}

function overloaded(why: string): WireError {
  return {
    code: INTERNAL_ERROR,
    message: `${why}; unsubscribe from some first.`,
    data: { reason: 'overloaded', outcome: 'not_sent' },
  };
}
