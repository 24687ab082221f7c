// Makes the lists of an endpoint from those of its servers. Results are cached by what they are made of, so
// that all clients that see the same lists share one result.
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

/** One list of one server. */
export interface MemberList {
  /** Undefined if the server never sent one. */
  readonly list: ServerList | undefined;
  readonly era: Era;
}

/** The resources of an endpoint: two lists, and a table that finds the owner of a URI that is in neither. */
export interface ResourceListings {
  readonly table: ResourceTable;
  readonly resources: Listing;
  readonly templates: Listing;
}

/** Cached listings; clients with private servers may see different ones. */
const MAX_KEPT = 32;
/** Hidden names that were reported, so that each is logged once. */
const MAX_REPORTED = 1_000;
const MAX_OWNERS = 20_000;

/** Makes the listings of one endpoint. */
export class Composer {
  readonly #members: readonly MemberCatalog[];
  readonly #naming: NamingOptions;
  readonly #logger: Logger;
  readonly #reported = new RecentMap<string, boolean>(MAX_REPORTED);
  /** The server that a name meant last. */
  readonly #owners = new RecentMap<string, string>(MAX_OWNERS);
  readonly #ids = new WeakMap<ServerList, number>();
  #lastId = 0;
  /** Promises are listings that are still being made. */
  readonly #named = new RecentMap<string, Listing | Promise<Listing>>(MAX_KEPT);
  readonly #resources = new RecentMap<string, ResourceListings | Promise<ResourceListings>>(
    MAX_KEPT,
  );

  /** The result before any list was read. */
  readonly noResources: ResourceListings;

  /** @param members in the order of the configuration */
  constructor(members: readonly MemberCatalog[], naming: NamingOptions, logger: Logger) {
    this.#members = members;
    this.#naming = naming;
    this.#logger = logger;
    this.noResources = finished(this.#composeResources([], []));
  }

  /**
   * The server of a name, if its prefix says so.
   * @returns its index; undefined if only the lists can tell
   */
  memberOf(name: string): number | undefined {
    if (this.#naming.prefix !== 'always') return undefined;
    const [member, ...others] = this.membersOf(name);
    return others.length === 0 ? member : undefined;
  }

  /** The prefix of all names of a server; undefined if it depends on other servers. */
  prefixOf(key: string): string | undefined {
    const { prefix, separator } = this.#naming;
    return prefix === 'always' ? `${key}${separator}` : undefined;
  }

  /** The servers that may have a name, judging by its prefix. */
  membersOf(name: string): number[] {
    const { prefix, separator } = this.#naming;
    if (this.#members.length === 1 && prefix !== 'always') return [0];
    if (prefix === 'never') return [];
    return this.#members.flatMap(({ key }, index) =>
      name.startsWith(`${key}${separator}`) ? [index] : [],
    );
  }

  /** The tools or prompts of an endpoint. */
  named(
    method: 'tools/list' | 'prompts/list',
    lists: readonly MemberList[],
  ): Listing | Promise<Listing> {
    const key = `${method} ${this.#keyOf(lists)}`;
    return made(this.#named, key, () => this.#composeNamed(method, lists));
  }

  /** The resources and templates of an endpoint, from one list of each kind for every server. */
  resources(
    uris: readonly MemberList[],
    templates: readonly MemberList[],
  ): ResourceListings | Promise<ResourceListings> {
    const key = `${this.#keyOf(uris)} ${this.#keyOf(templates)}`;
    return made(this.#resources, key, () => this.#composeResources(uris, templates));
  }

  /** The listing that a cursor was made for, if it is still cached. */
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

  /** If a name moves to another server, it means something else for clients. So this is logged. */
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
      'names of an endpoint now belong to other servers: set prefix: always to keep them apart',
    );
  }

  /** With `prefix: never` one server's name hides another's. Each case is logged once. */
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
      'entries are not shown, because other servers have entries with the same names: set a prefix',
    );
  }

  #reportExcess(templates: readonly (readonly ShownEntry[])[]): void {
    for (const [index, { length }] of templates.entries()) {
      if (length <= MAX_MATCHED_TEMPLATES) continue;
      this.#logger.warn(
        { server: this.#members[index]?.key, templates: length, lookedAt: MAX_MATCHED_TEMPLATES },
        'server has very many resource templates: URIs that are in no list are compared only with the first ones',
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

/** The cached result for a key, or the one that is being made, or a new one. */
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
