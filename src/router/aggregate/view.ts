// What one client sees of the servers of an endpoint: the current lists of its own instances. No list is read
// twice, and the waits for a server are limited by the endpoint.

import { within } from '../../base/clock.ts';
import type { GatewayError } from '../../base/errors.ts';
import { whenThere } from '../../base/steps.ts';
import type { Composer, MemberList, ResourceListings } from '../../catalog/composer.ts';
import { LISTS, type ListMethod } from '../../catalog/list-kinds.ts';
import type { Era, Listing } from '../../catalog/listing.ts';
import type { OfferedEntry } from '../../catalog/offered-entry.ts';
import type { ExposeUri } from '../../catalog/resource-texts.ts';
import { type ResourceTable, unwrapUri } from '../../catalog/resource-uris.ts';
import type { ServerList } from '../../catalog/server-list.ts';
import { FAILURES } from '../../mcp/failures.ts';
import { RESOURCES_LIST, TEMPLATES_LIST } from '../../mcp/methods.ts';
import type { Lease, ListKind } from '../../ports/lease.ts';
import type { Member } from './member.ts';

/** Lists whose entries have names. */
export type NamedMethod = 'tools/list' | 'prompts/list';

/** The list of each server, in the order of the configuration. */
type Lists = readonly (ServerList | undefined)[];

/** The leases that a view uses to read lists. */
export interface ViewLeases {
  /** The client's lease of a server, taken if needed; undefined if there is none. */
  lease(member: number): Lease | undefined;
  /** Like `lease`, but only if it is taken already or costs nothing. */
  peek(member: number): Lease | undefined;
  /** Why the client has no lease of a server; undefined if it may not use the server. */
  refusal(member: number): GatewayError | undefined;
  /** The missing entries of a server in some list are available now. */
  completed(kind: ListKind): void;
}

/** A server's list when it was last used. A new object whenever any of this changes. */
interface SeenList extends MemberList {
  readonly key: object | undefined;
  readonly version: number;
  /** Whether it is the current list of the client's own instance. */
  readonly isCurrent: boolean;
}

interface ComposedLists {
  readonly of: readonly SeenList[];
  readonly listing: Listing;
}

/** The lists of an endpoint for one client. */
export class View {
  readonly #members: readonly Member[];
  readonly #composer: Composer;
  readonly #leases: ViewLeases;
  /** Kinds of lists that a client got without the entries of a server, by the server's index. */
  readonly #missingKinds = new Map<number, Set<ListKind>>();
  /** Reads that took too long, by server and method. No client waits for them again. */
  readonly #overdue = new Set<string>();
  /** The listings that were made last; most of the time they are still valid. */
  readonly #composed = new Map<NamedMethod, ComposedLists>();
  /** The resources that were made last. */
  #resources: ResourceListings;
  /** Names that may be the prefix of a URI. */
  readonly #keys: ReadonlySet<string>;

  /** The URI translation of each server, as far as it was needed. */
  readonly #exposed: ExposeUri[] = [];

  constructor(
    { members, composer }: { readonly members: readonly Member[]; readonly composer: Composer },
    leases: ViewLeases,
  ) {
    this.#members = members;
    this.#composer = composer;
    this.#leases = leases;
    this.#resources = composer.noResources;
    this.#keys = new Set(members.length > 1 ? members.map(({ key }) => key) : []);
  }

  /** The current tools or prompts. */
  named(method: NamedMethod): Listing | Promise<Listing> {
    const lists = this.#fresh(method);
    return whenThere(this.#readMissing(method, lists), (all) => this.#composeNamed(method, all));
  }

  /** The current resources and templates. */
  resources(): ResourceListings | Promise<ResourceListings> {
    const uris = this.#fresh(RESOURCES_LIST);
    const templates = this.#fresh(TEMPLATES_LIST);
    if (isComplete(uris) && isComplete(templates)) return this.#composeResources(uris, templates);
    return Promise.all([
      this.#readMissing(RESOURCES_LIST, uris),
      this.#readMissing(TEMPLATES_LIST, templates),
    ]).then(([readUris, readTemplates]) => this.#composeResources(readUris, readTemplates));
  }

  /** Resources to look up URIs in: the last known ones, unless a server's were never read. */
  resourcesToSearch(...wanted: readonly string[]): ResourceListings | Promise<ResourceListings> {
    // The prefix of a server says as much as the lists could.
    const areWrapped = wanted.every((uri) => unwrapUri(this.#keys, uri) !== undefined);
    if (areWrapped) return this.#resourcesSoFar();
    const uris = this.#knownLists(RESOURCES_LIST);
    const templates = this.#knownLists(TEMPLATES_LIST);
    if (isComplete(uris) && isComplete(templates)) return this.#composeResources(uris, templates);
    return this.resources();
  }

  /** The owners of URIs, according to the lists that were read and merged so far. */
  get knownTable(): ResourceTable {
    return this.#resourcesSoFar().table;
  }

  /** The translation of a server's URIs for the client. */
  exposeOf(member: number): ExposeUri {
    let expose = this.#exposed[member];
    if (expose === undefined) {
      const key = this.#members[member]?.key ?? '';
      expose = (uri, matchBudget) => this.knownTable.exposed(key, uri, matchBudget);
      this.#exposed[member] = expose;
    }
    return expose;
  }

  #resourcesSoFar(): ResourceListings {
    const known = this.#composeResources(
      this.#knownLists(RESOURCES_LIST),
      this.#knownLists(TEMPLATES_LIST),
    );
    return known instanceof Promise ? this.#resources : known;
  }

  /**
   * The tool or prompt with a name. Known lists are used first, so that a call does not wait for the lists of
   * other servers.
   */
  find(
    method: NamedMethod,
    name: string,
  ): OfferedEntry | undefined | Promise<OfferedEntry | undefined> {
    const known = this.#known(method);
    if (known instanceof Promise) return this.#findMeanwhile(method, name, known);
    const entry = known.listing.find(name);
    if (entry !== undefined && known.of[entry.member]?.isCurrent === true) return entry;
    return this.#findAnew(method, name, entry);
  }

  /** Why a name may be unknown although it exists: the list of its server is not available. */
  lackOf(method: NamedMethod, name: string): GatewayError | undefined {
    for (const index of this.#composer.membersOf(name)) {
      if (this.#knownList(index, method) !== undefined) continue;
      const at = this.#leases.peek(index);
      const reason =
        at === undefined
          ? this.#leases.refusal(index)
          : (at.unavailableReason ?? this.#unlisted(index));
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  #unlisted(index: number): GatewayError {
    return FAILURES.unlisted(this.#members[index]?.key ?? '');
  }

  /** A server can be used again: announces changed lists to clients that got them without its entries. */
  isUp(index: number): void {
    for (const kind of this.#missingKinds.get(index) ?? []) this.#leases.completed(kind);
    this.#missingKinds.delete(index);
  }

  /** A missing list has arrived: announces the change to clients that got their list without it. */
  #isListed(index: number, kind: ListKind): void {
    if (this.#missingKinds.get(index)?.delete(kind) === true) this.#leases.completed(kind);
  }

  /**
   * While a new list is being made, a call goes to the same server as before, if that server's list has not
   * changed.
   */
  #findMeanwhile(
    method: NamedMethod,
    name: string,
    next: Promise<ComposedLists>,
  ): OfferedEntry | undefined | Promise<OfferedEntry | undefined> {
    const latest = this.#composed.get(method);
    const entry = latest?.listing.find(name);
    const { member = -1 } = entry ?? {};
    const list = latest?.of[member]?.list;
    if (entry !== undefined && list !== undefined && list === this.#current(member, method)) {
      return entry;
    }
    return next.then(() => this.find(method, name));
  }

  async #findAnew(
    method: NamedMethod,
    name: string,
    known: OfferedEntry | undefined,
  ): Promise<OfferedEntry | undefined> {
    const member = known?.member ?? this.#composer.memberOf(name);
    if (member === undefined) return (await this.named(method)).find(name);
    if (this.#freshList(member, method) === undefined) {
      await this.#read(member, method, this.#members[member]?.patience.toCall);
    }
    return (await this.#known(method)).listing.find(name);
  }

  #readMissing(method: ListMethod, lists: Lists): Lists | Promise<Lists> {
    if (isComplete(lists)) return lists;
    return Promise.all(lists.map((list, index) => list ?? this.#read(index, method)));
  }

  /**
   * Reads one list. Returns the last known one if the server is down or too slow.
   * @param limitMs how long a call waits for it; undefined: as long as list requests do
   */
  async #read(
    index: number,
    method: ListMethod,
    limitMs?: number,
  ): Promise<ServerList | undefined> {
    const member = this.#members[index];
    const at = this.#leases.lease(index);
    if (member === undefined) return undefined;
    if (at === undefined) {
      if (this.#leases.refusal(index) !== undefined) this.#noteLack(index, LISTS[method].kind);
      return lastOf(member, method);
    }
    const id = `${index} ${method}`;
    const isReady = at.unavailableReason === undefined;
    // A starting server delays only its own calls.
    const mayWait = limitMs !== undefined && !isReady;
    if (this.#overdue.has(id) && !mayWait) return lastOf(member, method);
    const reading = member.lists.read(at, method);
    let isRead = false;
    const ended = reading.finally(() => {
      isRead = true;
      this.#overdue.delete(id);
    });
    const read = await within(limitMs ?? member.patience.toList(method, isReady), ended);
    if (read !== undefined) member.patience.listed(method);
    if (!isRead) {
      member.patience.late(method, isReady);
      this.#overdue.add(id);
    }
    const list = read ?? lastOf(member, method);
    if (list === undefined) this.#noteMissing(index, method, reading);
    return list;
  }

  /** Notes that a client got a list without a server's entries, and reads them when that is possible. */
  #noteMissing(index: number, method: ListMethod, reading: Promise<ServerList | undefined>): void {
    const { kind } = LISTS[method];
    this.#noteLack(index, kind);
    const found = (): void => {
      this.#members[index]?.patience.listed(method);
      this.#isListed(index, kind);
    };
    void reading.then((late) => {
      const at = this.#leases.peek(index);
      if (late !== undefined) found();
      else if (at !== undefined) this.#members[index]?.lists.retry(at, method, found);
    });
  }

  #noteLack(index: number, kind: ListKind): void {
    const kinds = this.#missingKinds.get(index) ?? new Set();
    this.#missingKinds.set(index, kinds.add(kind));
  }

  #fresh(method: ListMethod): Lists {
    return this.#members.map((_, index) => this.#freshList(index, method));
  }

  #freshList(index: number, method: ListMethod): ServerList | undefined {
    const lease = this.#leases.lease(index);
    return lease && this.#members[index]?.lists.fresh(lease, method);
  }

  #knownLists(method: ListMethod): Lists {
    return this.#members.map((_, index) => this.#knownList(index, method));
  }

  #knownList(index: number, method: ListMethod): ServerList | undefined {
    const member = this.#members[index];
    return this.#current(index, method) ?? (member && lastOf(member, method));
  }

  #current(index: number, method: ListMethod): ServerList | undefined {
    const lease = this.#leases.peek(index);
    return lease && this.#members[index]?.lists.current(lease, method);
  }

  /** The listing from what was read so far. Runs for each call, and usually makes nothing new. */
  #known(method: NamedMethod): ComposedLists | Promise<ComposedLists> {
    const composed = this.#composed.get(method);
    if (composed !== undefined && this.#isStill(composed, method)) return composed;
    const of = this.#knownLists(method).map((list, index) => this.#seen(index, method, list));
    return whenThere(this.#composer.named(method, of), (listing) => {
      const now = { of, listing };
      this.#composed.set(method, now);
      return now;
    });
  }

  #composeNamed(method: NamedMethod, lists: Lists): Listing | Promise<Listing> {
    return whenThere(this.#known(method), ({ listing, of }) =>
      of.every(({ list }, index) => list === lists[index])
        ? listing
        : this.#composer.named(method, this.#withEras(lists)),
    );
  }

  #seen(index: number, method: ListMethod, list: ServerList | undefined): SeenList {
    return {
      list,
      era: this.#era(index),
      key: this.#leases.peek(index)?.listKey(LISTS[method].kind),
      version: this.#members[index]?.lists.version ?? 0,
      isCurrent: this.#current(index, method) !== undefined,
    };
  }

  /** Whether a listing was made from what is known now. */
  #isStill({ of }: ComposedLists, method: NamedMethod): boolean {
    const { kind } = LISTS[method];
    for (let index = 0; index < of.length; index++) {
      const { key, version, era } = of[index] as SeenList;
      const lease = this.#leases.peek(index);
      if (version !== this.#members[index]?.lists.version) return false;
      if (key !== lease?.listKey(kind) || era !== eraOf(lease)) return false;
    }
    return true;
  }

  #composeResources(uris: Lists, templates: Lists): ResourceListings | Promise<ResourceListings> {
    return whenThere(
      this.#composer.resources(this.#withEras(uris), this.#withEras(templates)),
      (composed) => {
        this.#resources = composed;
        return composed;
      },
    );
  }

  #withEras(lists: Lists): MemberList[] {
    return lists.map((list, index) => ({ list, era: this.#era(index) }));
  }

  #era(index: number): Era {
    return eraOf(this.#leases.peek(index));
  }
}

function eraOf(lease: Lease | undefined): Era {
  return lease?.identity?.era ?? 'legacy';
}

/**
 * The list that was last read from any instance. For a private server it may be another client's, so it is
 * not used.
 */
function lastOf({ isShared, lists }: Member, method: ListMethod): ServerList | undefined {
  return isShared ? lists.last(method) : undefined;
}

function isComplete(lists: Lists): boolean {
  return lists.every((list) => list !== undefined);
}
