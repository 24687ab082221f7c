// The lists of one server: read once for each state that they are in, whoever asks, and kept by the
// key that says so. The only cache of lists; the way it is filled is the server's own paging.
import { backoffMs } from '../base/backoff.ts';
import { after, monotonicMs } from '../base/clock.ts';
import type { FindOwner } from '../base/held-bytes.ts';
import { METHOD_NOT_FOUND } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { errorCodeOf } from '../jsonrpc/parse.ts';
import { tellsChanges } from '../mcp/capabilities.ts';
import { TEMPLATES_LIST } from '../mcp/methods.ts';
import type { Logger } from '../observe/logger.ts';
import type { Lease } from '../ports/lease.ts';
import { contentDigest } from './content-digest.ts';
import { DistinctLists, KeptList } from './distinct-lists.ts';
import { LISTS, type ListMethod } from './list-kinds.ts';
import { makeOfLists } from './list-work.ts';
import {
  EMPTY_LIST,
  MAX_BYTES,
  MAX_ENTRIES,
  MAX_ENTRY_BYTES,
  ReadPages,
  type ServerList,
} from './server-list.ts';

/** How long the list of a server that does not tell changes holds, unless it says how long. */
const UNTOLD_TTL_MS = 30_000;
/** How often a list is asked for again that the server did not give. */
const MAX_RETRIES = 20;
const RETRY_LIMITS = { firstMs: 1_000, capMs: 60_000 };
/** What a server that has a kind of things says it can't list. Another object than `EMPTY_LIST`. */
const UNKNOWN_LIST: ServerList = { entries: [], ttlMs: 0, isPublic: true };
const KEPT_UNKNOWN = new KeptList(UNKNOWN_LIST);
const KEPT_EMPTY = new KeptList(EMPTY_LIST);

/** What is known of a list, by the key that says in which state it is. */
interface ListState {
  kept?: KeptList;
  /** From then on it is read again for whoever wants the list itself. */
  untilMs?: number;
  reading?: Promise<ServerList | undefined> | undefined;
  /** Who waits for it, since the server did not give it. */
  waiting?: Set<() => void> | undefined;
}

/** A list that the server did not give. */
interface MissingList {
  readonly lease: Lease;
  readonly method: ListMethod;
  readonly key: object;
  /** Told when it was read. */
  readonly waiting: ReadonlySet<() => void>;
}

/** The lists of one server, for all who see it. */
export class ServerLists {
  /** Another one whenever any of the lists is another one, at whatever instance. */
  version = 0;
  readonly #server: string;
  readonly #logger: Logger;
  readonly #states = new WeakMap<object, Map<ListMethod, ListState>>();
  readonly #distinct: DistinctLists;
  readonly #last = new Map<ListMethod, KeptList>();

  /** @param owner where its lists count */
  constructor(server: string, logger: Logger, owner: FindOwner) {
    this.#server = server;
    this.#logger = logger;
    this.#distinct = new DistinctLists(owner);
  }

  /** The list as it is; undefined when it has to be read first. */
  current(lease: Lease, method: ListMethod): ServerList | undefined {
    return this.#known(lease, method)?.kept?.list;
  }

  /** The same, unless it is so old that whoever wants to see the list should get it anew. */
  fresh(lease: Lease, method: ListMethod): ServerList | undefined {
    const { kept, untilMs = 0 } = this.#known(lease, method) ?? {};
    return untilMs < monotonicMs() ? undefined : kept?.list;
  }

  #known(lease: Lease, method: ListMethod): ListState | undefined {
    return this.#states.get(lease.listKey(LISTS[method].kind))?.get(method);
  }

  #state(key: object, method: ListMethod): ListState {
    const byMethod = this.#states.get(key) ?? new Map<ListMethod, ListState>();
    this.#states.set(key, byMethod);
    const state = byMethod.get(method) ?? {};
    byMethod.set(method, state);
    return state;
  }

  /** What was read last, from whatever instance: what the server has, most probably. */
  last(method: ListMethod): ServerList | undefined {
    return this.#last.get(method)?.list;
  }

  /**
   * Reads a list from the server. Several readers at once are one.
   * @returns undefined when the server can't be had, or does not answer
   */
  async read(lease: Lease, method: ListMethod): Promise<ServerList | undefined> {
    if (lease.isDown) return undefined;
    try {
      await lease.running();
    } catch {
      return undefined; // the instance has logged why
    }
    const key = lease.listKey(LISTS[method].kind);
    const state = this.#state(key, method);
    state.reading ??= this.#read(lease, method, key).finally(() => {
      state.reading = undefined;
    });
    return await state.reading;
  }

  /**
   * Asks again, less and less often, for a list that the server did not give.
   * @param found told when it was read, by whomever; never, if the server restarts before
   */
  retry(lease: Lease, method: ListMethod, found: () => void): void {
    const key = lease.listKey(LISTS[method].kind);
    const state = this.#state(key, method);
    if (state.waiting !== undefined) {
      state.waiting.add(found);
      return;
    }
    state.waiting = new Set([found]);
    this.#askLater(1, { lease, method, key, waiting: state.waiting });
  }

  #askLater(failures: number, missing: MissingList): void {
    after(backoffMs(failures, RETRY_LIMITS), () => void this.#askAgain(failures, missing));
  }

  async #askAgain(failures: number, missing: MissingList): Promise<void> {
    const { lease, method, key, waiting } = missing;
    const state = this.#state(key, method);
    if (state.waiting !== waiting) return;
    const isStill = !lease.isDown && lease.listKey(LISTS[method].kind) === key;
    if (isStill && (await this.read(lease, method)) !== undefined) return;
    if (isStill && failures < MAX_RETRIES) this.#askLater(failures + 1, missing);
    else state.waiting = undefined;
  }

  async #read(lease: Lease, method: ListMethod, key: object): Promise<ServerList | undefined> {
    const capability = lease.identity?.capabilities[LISTS[method].kind];
    const kept = capability === undefined ? KEPT_EMPTY : await this.#pages(lease, method);
    const list = kept?.list;
    if (kept === undefined) return undefined;
    if (list === undefined) {
      const what = 'list of a server is not kept, since too many bytes are held (limits.heldBytes)';
      this.#logger.warn({ server: this.#server, method, bytes: kept.bytes }, what);
      return undefined;
    }
    const isTold = tellsChanges(capability) && list !== UNKNOWN_LIST && list.isPart !== true;
    const holdsMs = Math.max(list.ttlMs, isTold ? Infinity : UNTOLD_TTL_MS);
    const state = this.#state(key, method);
    const { waiting = [] } = state;
    Object.assign(state, { kept, untilMs: monotonicMs() + holdsMs, waiting: undefined });
    this.version++;
    // An older list may come later than the one that took its place.
    if (lease.listKey(LISTS[method].kind) === key) this.#last.set(method, kept);
    for (const found of waiting) found();
    return list;
  }

  async #pages(lease: Lease, method: ListMethod): Promise<KeptList | undefined> {
    const read = new ReadPages(method);
    do {
      const answer = await lease.list(method, read.next);
      if (answer === undefined || !(await read.add(answer))) {
        return await this.#broken(method, read, answer);
      }
    } while (read.mayGoOn());
    this.#warnOfMissing(method, read);
    if (!read.isWhole) {
      this.#logger.warn(
        {
          server: this.#server,
          method,
          entries: read.list.entries.length,
          maxEntries: MAX_ENTRIES,
          maxBytes: MAX_BYTES,
        },
        'list of a server is too long or never ends, the rest is left out',
      );
    }
    return await this.#same(method, read.list);
  }

  #warnOfMissing(method: ListMethod, { tooLong, tooLarge }: ReadPages): void {
    const { named, maxLength } = LISTS[method];
    const about = { server: this.#server, method };
    if (tooLong > 0) {
      this.#logger.warn(
        { ...about, entries: tooLong, member: named, maxLength },
        'entries of a server are not shown, since what names them is too long',
      );
    }
    if (tooLarge > 0) {
      this.#logger.warn(
        { ...about, entries: tooLarge, maxBytes: MAX_ENTRY_BYTES },
        'entries of a server are not shown, since they are too large',
      );
    }
  }

  /** What there is when a page does not come: the pages before it. */
  async #broken(
    method: ListMethod,
    read: ReadPages,
    answer: Frame | undefined,
  ): Promise<KeptList | undefined> {
    const { pages, list } = read;
    if (pages === 0 && answer !== undefined && isUnknown(method, answer)) return KEPT_UNKNOWN;
    this.#warnOfMissing(method, read);
    this.#logger.warn({ server: this.#server, method, page: pages }, 'server gave no list');
    return pages === 0 ? undefined : await this.#same(method, { ...list, ttlMs: 0, isPart: true });
  }

  /** The list of the same content that is known already. */
  async #same(method: ListMethod, list: ServerList): Promise<KeptList> {
    const digest = await makeOfLists(contentDigest(textsOf(method, list)));
    return this.#distinct.keep(digest, list);
  }
}

function* textsOf(method: ListMethod, list: ServerList): Iterable<string | Buffer> {
  yield method;
  yield `${list.ttlMs} ${list.isPublic} ${list.isPart === true}`;
  for (const { text } of list.entries) yield text;
}

/** Whether a server may have such things and just not know this list. */
function isUnknown(method: ListMethod, answer: Frame): boolean {
  return method === TEMPLATES_LIST || errorCodeOf(answer) === METHOD_NOT_FOUND;
}
