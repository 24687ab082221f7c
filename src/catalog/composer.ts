// Makes the lists of an endpoint out of those of its servers. What was made is kept by what it was
// made of, so that all clients who see the same share one listing.
import { RecentMap } from '../base/recent-map.ts';
import { eachItem, finished, type StepsTo } from '../base/steps.ts';
import { RESOURCES_LIST, TEMPLATES_LIST } from '../mcp/methods.ts';
import { type Logger, someOf } from '../observe/logger.ts';
import type { ListMethod } from './list-kinds.ts';
import { makeOfLists } from './list-work.ts';
import { type Era, Listing } from './listing.ts';
import type { MemberCatalog, ShownEntry } from './member-catalog.ts';
import { exposeNames, type NameTable, type NamingOptions, type WithheldName } from './names.ts';
import { OfferedEntry } from './offered-entry.ts';
import { isAppPage, MAX_MATCHED_TEMPLATES, ResourceTable, wrapUri } from './resource-uris.ts';
import { EMPTY_LIST, type ServerList } from './server-list.ts';

/** A list of one server. */
export interface MemberList {
  /** Undefined when the server never gave one. */
  readonly list: ServerList | undefined;
  readonly era: Era;
}

/** The resources of an endpoint: two lists, and whose a URI is that is in neither. */
export interface ResourceListings {
  readonly table: ResourceTable;
  readonly resources: Listing;
  readonly templates: Listing;
}

/** Listings that are kept: clients with private servers may see different ones. */
const MAX_KEPT = 32;
/** Names that were reported as hidden, so that each is once. */
const MAX_REPORTED = 1_000;
const MAX_OWNERS = 20_000;

/** Composes the listings of one endpoint. */
export class Composer {
  readonly #members: readonly MemberCatalog[];
  readonly #naming: NamingOptions;
  readonly #logger: Logger;
  readonly #reported = new RecentMap<string, boolean>(MAX_REPORTED);
  /** Which server a name meant last. */
  readonly #owners = new RecentMap<string, string>(MAX_OWNERS);
  readonly #ids = new WeakMap<ServerList, number>();
  #lastId = 0;
  /** Those that are being made are promises. */
  readonly #named = new RecentMap<string, Listing | Promise<Listing>>(MAX_KEPT);
  readonly #resources = new RecentMap<string, ResourceListings | Promise<ResourceListings>>(
    MAX_KEPT,
  );

  /** What is known while no list was read. */
  readonly noResources: ResourceListings;

  /**
   * @param members in the order of the configuration
   */
  constructor(members: readonly MemberCatalog[], naming: NamingOptions, logger: Logger) {
    this.#members = members;
    this.#naming = naming;
    this.#logger = logger;
    this.noResources = finished(this.#composeResources([], []));
  }

  /**
   * The server of a name, as far as its prefix says so.
   * @returns its position; undefined when only the lists can tell
   */
  memberOf(name: string): number | undefined {
    if (this.#naming.prefix !== 'always') return undefined;
    const [member, ...others] = this.membersOf(name);
    return others.length === 0 ? member : undefined;
  }

  /** What stands before all names of a server; undefined where that depends on other servers. */
  prefixOf(key: string): string | undefined {
    const { prefix, separator } = this.#naming;
    return prefix === 'always' ? `${key}${separator}` : undefined;
  }

  /** The servers that a name may be of, going by the prefix that it has. */
  membersOf(name: string): number[] {
    const { prefix, separator } = this.#naming;
    if (this.#members.length === 1 && prefix !== 'always') return [0];
    if (prefix === 'never') return [];
    return this.#members.flatMap(({ key }, index) =>
      name.startsWith(`${key}${separator}`) ? [index] : [],
    );
  }

  /** Tools or prompts. */
  named(
    method: 'tools/list' | 'prompts/list',
    lists: readonly MemberList[],
  ): Listing | Promise<Listing> {
    const key = `${method} ${this.#keyOf(lists)}`;
    return made(this.#named, key, () => this.#composeNamed(method, lists));
  }

  /** Resources and templates, one list of each for every server. */
  resources(
    uris: readonly MemberList[],
    templates: readonly MemberList[],
  ): ResourceListings | Promise<ResourceListings> {
    const key = `${this.#keyOf(uris)} ${this.#keyOf(templates)}`;
    return made(this.#resources, key, () => this.#composeResources(uris, templates));
  }

  /** The listing that a cursor was given for, if it is known still. */
  withDigest(method: ListMethod, digest: string): Listing | undefined {
    const kept = [...this.#named.values(), ...this.#resources.values()];
    const listings = kept.flatMap((one) => {
      if (one instanceof Promise) return [];
      return one instanceof Listing ? [one] : [one.resources, one.templates];
    });
    return listings.find((one) => one.method === method && one.hasGiven(digest));
  }

  *#composeNamed(
    method: 'tools/list' | 'prompts/list',
    lists: readonly MemberList[],
  ): StepsTo<Listing> {
    const shown = yield* this.#shown(method, lists);
    const members = this.#members.map(({ key }, index) => ({ key, names: namesOf(shown[index]) }));
    const names = yield* exposeNames(members, this.#naming);
    yield* this.#report(names.withheld);
    if (this.#naming.prefix !== 'always') yield* this.#watchOwners(method, shown, names);
    return yield* this.#listing(method, lists, shown, (key, { name }) => names.exposed(key, name));
  }

  *#composeResources(
    uris: readonly MemberList[],
    templates: readonly MemberList[],
  ): StepsTo<ResourceListings> {
    const shownUris = yield* this.#shown(RESOURCES_LIST, uris);
    const shownTemplates = yield* this.#shown(TEMPLATES_LIST, templates);
    this.#reportExcess(shownTemplates);
    const table = yield* ResourceTable.of(
      this.#members.map(({ key }, index) => ({
        key,
        hasResources: uris[index]?.list !== EMPTY_LIST || templates[index]?.list !== EMPTY_LIST,
        uris: namesOf(shownUris[index]),
        templates: namesOf(shownTemplates[index]),
      })),
    );
    const expose = (key: string, { name }: ShownEntry): string => table.exposed(key, name);
    return {
      table,
      resources: yield* this.#listing(RESOURCES_LIST, uris, shownUris, expose),
      templates: yield* this.#listing(TEMPLATES_LIST, templates, shownTemplates, expose),
    };
  }

  *#shown(method: ListMethod, lists: readonly MemberList[]): StepsTo<(readonly ShownEntry[])[]> {
    const shown: (readonly ShownEntry[])[] = [];
    for (const [index, member] of this.#members.entries()) {
      shown.push(yield* member.shown(method, lists[index]?.list));
    }
    return shown;
  }

  *#listing(
    method: ListMethod,
    lists: readonly MemberList[],
    shown: readonly (readonly ShownEntry[])[],
    expose: (key: string, entry: ShownEntry) => string | undefined,
  ): StepsTo<Listing> {
    const hasOthers = this.#members.length > 1;
    const offered: OfferedEntry[] = [];
    for (const [member, entries] of shown.entries()) {
      const key = this.#members[member]?.key ?? '';
      const era = lists[member]?.era ?? 'legacy';
      const pageOf = (uri: string): string =>
        hasOthers && isAppPage(uri) ? wrapUri(key, uri) : uri;
      yield* eachItem(entries, (entry) => {
        const exposed = expose(key, entry);
        if (exposed === undefined) return;
        offered.push(new OfferedEntry(method, entry, { exposed, member, era, pageOf }));
      });
    }
    return yield* Listing.of(method, offered);
  }

  /** A name that goes to another server means another thing to clients: never silently. */
  *#watchOwners(
    method: ListMethod,
    shown: readonly (readonly ShownEntry[])[],
    names: NameTable,
  ): StepsTo<void> {
    const moved: { name: string; before: string; now: string }[] = [];
    for (const [index, entries] of shown.entries()) {
      const key = this.#members[index]?.key ?? '';
      yield* eachItem(entries, ({ name }) => {
        const exposed = names.exposed(key, name);
        if (exposed === undefined) return;
        const before = this.#owners.get(`${method} ${exposed}`);
        this.#owners.set(`${method} ${exposed}`, key);
        if (before !== undefined && before !== key) moved.push({ name: exposed, before, now: key });
      });
    }
    if (moved.length === 0) return;
    this.#logger.warn(
      { method, ...someOf(moved) },
      'names of an endpoint belong to other servers now: set prefix: always to keep them apart',
    );
  }

  /** With `prefix: never` one server's name hides another's: said once. */
  *#report(withheld: readonly WithheldName[]): StepsTo<void> {
    const added: { server: string; name: string; keptBy: string }[] = [];
    yield* eachItem(withheld, ({ key: server, name, keptBy }) => {
      const id = `${server} ${name} ${keptBy}`;
      if (this.#reported.get(id) === true) return;
      this.#reported.set(id, true);
      added.push({ server, name, keptBy });
    });
    if (added.length === 0) return;
    this.#logger.warn(
      someOf(added),
      'entries are not shown, since other servers have their names and keep them: set a prefix',
    );
  }

  #reportExcess(templates: readonly (readonly ShownEntry[])[]): void {
    for (const [index, { length }] of templates.entries()) {
      if (length <= MAX_MATCHED_TEMPLATES) continue;
      this.#logger.warn(
        { server: this.#members[index]?.key, templates: length, lookedAt: MAX_MATCHED_TEMPLATES },
        'server lists very many resource templates: a URI that is in no list is not looked up in all',
      );
    }
  }

  #keyOf(lists: readonly MemberList[]): string {
    let key = '';
    for (const { list, era } of lists) key += `${this.#idOf(list)}${era === 'modern' ? 'm' : 'l'}`;
    return key;
  }

  #idOf(list: ServerList | undefined): number {
    if (list === undefined) return 0;
    let id = this.#ids.get(list);
    if (id === undefined) {
      id = ++this.#lastId;
      this.#ids.set(list, id);
    }
    return id;
  }
}

/** What is known by a key, or being made already; else it is made. */
function made<T extends object>(
  known: RecentMap<string, T | Promise<T>>,
  key: string,
  steps: () => StepsTo<T>,
): T | Promise<T> {
  return known.getOrMake(key, () => {
    const result = makeOfLists(steps());
    if (result instanceof Promise) {
      result.then(
        (value) => known.set(key, value),
        () => known.delete(key),
      );
    }
    return result;
  });
}

function namesOf(entries: readonly ShownEntry[] = []): string[] {
  return entries.map(({ name }) => name);
}
