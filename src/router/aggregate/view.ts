// What one client sees of the servers of an endpoint: their lists as they are at its own instances.
// Nothing is read twice, and no server is waited for longer than the endpoint allows.

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

/** A list of each server, in the order of the configuration. */
type Lists = readonly (ServerList | undefined)[];

/** A client's leases, where a view reads its lists. */
export interface ViewLeases {
  /** The client's lease at a server; undefined when it has none. Taken if need be. */
  lease(member: number): Lease | undefined;
  /** The same, if it is taken already or costs nothing. */
  peek(member: number): Lease | undefined;
  /** Why there is no lease for the client at a server; undefined: it is none of its business. */
  refusal(member: number): GatewayError | undefined;
  /** A list that was given without some server's entries would have them now. */
  completed(kind: ListKind): void;
}

/** A server's list as it was last looked at; another one if any of this is. */
interface SeenList extends MemberList {
  readonly key: object | undefined;
  readonly version: number;
  /** Whether it is the list as it is at the client's own instance. */
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
  /** Kinds of lists that were given without the entries of a server. */
  readonly #missingKinds = new Map<number, Set<ListKind>>();
  /** Reads that took too long already, by server and method: nobody waits for them once more. */
  readonly #overdue = new Set<string>();
  /** What was composed last, which it mostly still is. */
  readonly #composed = new Map<NamedMethod, ComposedLists>();
  /** The resources that were composed last. */
  #resources: ResourceListings;
  /** Names that may stand in front of a URI. */
  readonly #keys: ReadonlySet<string>;

  /** What URIs of each server are to the client, as far as that was asked for. */
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

  /** Tools or prompts as they are now. */
  named(method: NamedMethod): Listing | Promise<Listing> {
    const lists = this.#fresh(method);
    return whenThere(this.#readMissing(method, lists), (all) => this.#composeNamed(method, all));
  }

  /** Resources and templates as they are now. */
  resources(): ResourceListings | Promise<ResourceListings> {
    const uris = this.#fresh(RESOURCES_LIST);
    const templates = this.#fresh(TEMPLATES_LIST);
    if (isComplete(uris) && isComplete(templates)) return this.#composeResources(uris, templates);
    return Promise.all([
      this.#readMissing(RESOURCES_LIST, uris),
      this.#readMissing(TEMPLATES_LIST, templates),
    ]).then(([readUris, readTemplates]) => this.#composeResources(readUris, readTemplates));
  }

  /** Resources to look URIs up in: as they were last, unless a server's were never read. */
  resourcesToSearch(...wanted: readonly string[]): ResourceListings | Promise<ResourceListings> {
    // The prefix of a server says all that the lists could.
    const areWrapped = wanted.every((uri) => unwrapUri(this.#keys, uri) !== undefined);
    if (areWrapped) return this.#resourcesSoFar();
    const uris = this.#knownLists(RESOURCES_LIST);
    const templates = this.#knownLists(TEMPLATES_LIST);
    if (isComplete(uris) && isComplete(templates)) return this.#composeResources(uris, templates);
    return this.resources();
  }

  /** Whose URIs are, as far as lists were ever read, and were composed by now. */
  get knownTable(): ResourceTable {
    return this.#resourcesSoFar().table;
  }

  /** What a URI of a server is to the client. */
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
   * The tool or prompt of a name. Looks at what is known first, so that a call waits for no list of
   * a server that it is not for.
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

  /** Why a name may be unknown though there is such a thing: the list of its server can't be had. */
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

  /** A server can be used again: whoever was given lists without its entries is told. */
  isUp(index: number): void {
    for (const kind of this.#missingKinds.get(index) ?? []) this.#leases.completed(kind);
    this.#missingKinds.delete(index);
  }

  /** A list is there that was not: whoever was given one without it is told. */
  #isListed(index: number, kind: ListKind): void {
    if (this.#missingKinds.get(index)?.delete(kind) === true) this.#leases.completed(kind);
  }

  /** While lists are composed, a call goes where it went before, if the list that says so still holds. */
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
   * Reads one list; gives the last one that was known when the server is down or too slow.
   * @param limitMs how long it is waited for; undefined: as lists are
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
    // A call of a server that is starting is the only one that it keeps waiting.
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

  /** Notes that a list is given without a server's entries, and has them read once they can be. */
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

  /** As far as lists were ever read. Asked for each call, so that it mostly makes nothing. */
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

  /** Whether it was made of what is known now. */
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
 * What was read last at whatever instance; of a private server that was perhaps somebody else's, and
 * is nobody's business.
 */
function lastOf({ isShared, lists }: Member, method: ListMethod): ServerList | undefined {
  return isShared ? lists.last(method) : undefined;
}

function isComplete(lists: Lists): boolean {
  return lists.every((list) => list !== undefined);
}
