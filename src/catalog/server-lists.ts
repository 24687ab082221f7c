// The lists of one server. Each is read once for each state of the server, for all readers, and kept under
// the key of that state. There is no other cache of lists.
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

/** How long a list is used if the server does not announce changes, and does not say how long. */
const UNTOLD_TTL_MS = 30_000;
/** How often a list is requested again if the server did not send it. */
const MAX_RETRIES = 20;
const RETRY_LIMITS = { firstMs: 1_000, capMs: 60_000 };
/** For a server that has the capability but not the method. Not the same object as `EMPTY_LIST`. */
const UNKNOWN_LIST: ServerList = { entries: [], ttlMs: 0, isPublic: true };
const KEPT_UNKNOWN = new KeptList(UNKNOWN_LIST);
const KEPT_EMPTY = new KeptList(EMPTY_LIST);

/** What is known about a list in one state of the server. */
interface ListState {
  kept?: KeptList;
  /** Afterwards it is read again for clients that request the list itself. Monotonic milliseconds. */
  untilMs?: number;
  reading?: Promise<ServerList | undefined> | undefined;
  /** Called when a list arrives that the server did not send before. */
  waiting?: Set<() => void> | undefined;
}

/** A list that the server did not send. */
interface MissingList {
  readonly lease: Lease;
  readonly method: ListMethod;
  readonly key: object;
  /** Called when it was read. */
  readonly waiting: ReadonlySet<() => void>;
}

/** The lists of one server, for all its clients. */
export class ServerLists {
  /** Changes whenever any list of any instance changes. */
  version = 0;
  readonly #server: string;
  readonly #logger: Logger;
  readonly #states = new WeakMap<object, Map<ListMethod, ListState>>();
  readonly #distinct: DistinctLists;
  readonly #last = new Map<ListMethod, KeptList>();

  /** @param owner counts the bytes of its lists */
  constructor(server: string, logger: Logger, owner: FindOwner) {
    this.#server = server;
    this.#logger = logger;
    this.#distinct = new DistinctLists(owner);
  }

  /** The current list; undefined if it must be read first. */
  current(lease: Lease, method: ListMethod): ServerList | undefined {
    return this.#known(lease, method)?.kept?.list;
  }

  /**
   * Like `current`, but undefined if the list is so old that it should be read again for a client that
   * requests it.
   */
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

  /** The list that was read last, from any instance: most probably what the server has. */
  last(method: ListMethod): ServerList | undefined {
    return this.#last.get(method)?.list;
  }

  /**
   * Reads a list from the server. Simultaneous readers share one request.
   * @returns undefined if the server is not available or does not answer
   */
  async read(lease: Lease, method: ListMethod): Promise<ServerList | undefined> {
    if (lease.isDown) return undefined;
    try {
      await lease.running();
    } catch {
      return undefined; // the instance has logged the reason
    }
    const key = lease.listKey(LISTS[method].kind);
    const state = this.#state(key, method);
    state.reading ??= this.#read(lease, method, key).finally(() => {
      state.reading = undefined;
    });
    return await state.reading;
  }

  /**
   * Requests a list again that the server did not send, with growing pauses.
   * @param found called when any reader got it; never, if the server restarts before
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
      const what =
        'list of a server is not kept, because too many bytes are held (limits.heldBytes)';
      this.#logger.warn({ server: this.#server, method, bytes: kept.bytes }, what);
      return undefined;
    }
    const isTold = tellsChanges(capability) && list !== UNKNOWN_LIST && list.isPart !== true;
    const holdsMs = Math.max(list.ttlMs, isTold ? Infinity : UNTOLD_TTL_MS);
    const state = this.#state(key, method);
    const { waiting = [] } = state;
    Object.assign(state, { kept, untilMs: monotonicMs() + holdsMs, waiting: undefined });
    this.version++;
    // An older list may arrive after the one that replaced it.
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
        'list of a server is too long or never ends: the rest is left out',
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
        'entries of a server are not shown, because their names or URIs are too long',
      );
    }
    if (tooLarge > 0) {
      this.#logger.warn(
        { ...about, entries: tooLarge, maxBytes: MAX_ENTRY_BYTES },
        'entries of a server are not shown, because they are too large',
      );
    }
  }

  /** The result if a page is missing: the pages before it. */
  async #broken(
    method: ListMethod,
    read: ReadPages,
    answer: Frame | undefined,
  ): Promise<KeptList | undefined> {
    const { pages, list } = read;
    if (pages === 0 && answer !== undefined && isUnknown(method, answer)) return KEPT_UNKNOWN;
    this.#warnOfMissing(method, read);
    this.#logger.warn(
      { server: this.#server, method, page: pages },
      'server did not send its list',
    );
    return pages === 0 ? undefined : await this.#same(method, { ...list, ttlMs: 0, isPart: true });
  }

  /** The list with the same content that is already kept, or this one. */
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

/** Whether the server has the capability, but does not know this method. */
function isUnknown(method: ListMethod, answer: Frame): boolean {
  return method === TEMPLATES_LIST || errorCodeOf(answer) === METHOD_NOT_FOUND;
}
