// URIs of resources where one endpoint shows several servers (docs/protocol.md#merged-endpoints):
// unchanged while only one server has them, by the lists and the templates of all, else with the
// server's name in front of the scheme, `fs+file:///a`. What begins with such a prefix is always
// wrapped, so taking it off is exact. Hosts know the pages of apps by their scheme `ui:`, so these
// keep it and always have the server's name behind it: `ui://fs+page` (MCP Apps, SEP-1865).
import { eachItem, type StepsTo } from '../base/steps.ts';
import { TEXT_LIMITS } from '../base/text-limits.ts';
import {
  type MatchBudget,
  matchesTemplate,
  parseTemplate,
  schemeOf,
  type UriTemplate,
} from './uri-templates.ts';

/** What one server lists. */
export interface ResourceMember {
  /** The server's name in the configuration. */
  readonly key: string;
  /** Whether it may have resources at all: it declares them, or isn't known yet. */
  readonly hasResources: boolean;
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}

/** Whose a URI is. */
export interface UriOwner {
  readonly key: string;
  /** As the server knows it. */
  readonly uri: string;
}

/** Where a URI leads. */
export type UriTarget =
  | ({ readonly kind: 'one' } & UriOwner)
  /** Any of these may have it; the likeliest first. Empty when no server has resources. */
  | { readonly kind: 'several'; readonly targets: readonly UriOwner[] };

/** What one client sees of the servers of an endpoint. */
export interface ResourceVisibility {
  /** Whether it sees anything of a server. */
  server(key: string): boolean;
  /** Whether it may use a resource, if there is one. */
  resource(owner: UriOwner): boolean;
}

const EVERYTHING: ResourceVisibility = { server: () => true, resource: () => true };

/**
 * The prefix of a server's URIs, which makes a legal scheme of any.
 *
 * @param key a server's name
 */
export function schemePrefix(key: string): string {
  // A scheme starts with a letter; no name has a dot.
  return /^[a-z]/.test(key) ? `${key}+` : `x.${key}+`;
}

const APP_PAGE = 'ui://';

/** Whether a URI is that of an app's page. */
export function isAppPage(uri: string): boolean {
  return uri.slice(0, APP_PAGE.length).toLowerCase() === APP_PAGE;
}

/**
 * Puts a server's prefix in front of a URI or template, or behind the scheme of an app's page.
 *
 * @param key a server's name
 * @param uri as the server knows it
 */
export function wrapUri(key: string, uri: string): string {
  if (isAppPage(uri)) return `${APP_PAGE}${key}+${uri.slice(APP_PAGE.length)}`;
  return schemePrefix(key) + uri;
}

/**
 * Takes a prefix off. Schemes have no case, so neither has the prefix.
 *
 * @param keys names of servers
 * @param uri as a client knows it
 * @returns undefined when it doesn't begin with the prefix of one of them
 */
export function unwrapUri(keys: ReadonlySet<string>, uri: string): UriOwner | undefined {
  if (isAppPage(uri)) return unwrapAppPage(keys, uri);
  const end = uri.indexOf('+') + 1;
  const prefix = uri.slice(0, end).toLowerCase();
  const name = prefix.slice(0, -1);
  const key = name.startsWith('x.') ? name.slice(2) : name;
  if (end === 0 || !keys.has(key) || schemePrefix(key) !== prefix) return undefined;
  return { key, uri: uri.slice(end) };
}

function unwrapAppPage(keys: ReadonlySet<string>, uri: string): UriOwner | undefined {
  const end = uri.indexOf('+');
  const key = uri.slice(APP_PAGE.length, end).toLowerCase();
  if (end < 0 || !keys.has(key)) return undefined;
  return { key, uri: APP_PAGE + uri.slice(end + 1) };
}

/** Templates of one server that unlisted URIs are looked up in. */
export const MAX_MATCHED_TEMPLATES = 1_000;
/**
 * What is spent on the templates of one server to find whose a URI is; those behind then say nothing.
 * For each server, so that none uses up what another one's are found with.
 */
const SERVER_STEPS = 50_000;
/**
 * What is spent for each scheme on finding what is listed by one server and matched by another one's
 * template; where it would take more, all of that scheme gets prefixes.
 */
const SCHEME_STEPS = 400_000;
/** What one such step costs, in bytes. */
const STEP_COST = 4;
/** What it costs to look a URI up, whatever the templates are. */
const LOOK_UP = 64;

/** A template, and how the server writes it. */
interface OwnTemplate {
  readonly text: string;
  readonly template: UriTemplate;
}

/** Both directions of the URIs of one endpoint. */
export class ResourceTable {
  /** Every server that may have resources, in the order of the configuration. */
  readonly #keys: readonly string[];
  /** Names whose prefixes count; empty with one server, whose URIs all stay as they are. */
  readonly #prefixed: ReadonlySet<string>;
  /** Each listed URI and template with the servers that list it. */
  readonly #listed = new Map<string, Set<string>>();
  readonly #schemes = new Map<string, Set<string>>();
  /** What is listed, by scheme. */
  readonly #texts = new Map<string, Set<string>>();
  /** What of it could be taken for another server's. */
  readonly #taken = new Map<string, ReadonlySet<string>>();
  /** By scheme; those without one may match any URI, and only where nothing else says more. */
  readonly #templates = new Map<string | undefined, Map<string, OwnTemplate[]>>();

  private constructor(members: readonly ResourceMember[]) {
    this.#keys = members.filter(({ hasResources }) => hasResources).map(({ key }) => key);
    this.#prefixed = new Set(members.length > 1 ? members.map(({ key }) => key) : []);
  }

  /** @param members all servers of the endpoint in the order of the configuration */
  static *of(members: readonly ResourceMember[]): StepsTo<ResourceTable> {
    const table = new ResourceTable(members);
    for (const { key, uris, templates } of members) {
      const add = (text: string): void => table.#add(key, text);
      yield* eachItem(uris, add);
      yield* eachItem(templates, add);
      const matched = templates.slice(0, MAX_MATCHED_TEMPLATES);
      yield* eachItem(matched, (text) => table.#addTemplate(key, text));
    }
    if (table.#prefixed.size > 0) yield* table.#findTaken();
    return table;
  }

  #add(key: string, text: string): void {
    addTo(this.#listed, text, key);
    const scheme = schemeOf(text);
    if (scheme === undefined) return;
    addTo(this.#schemes, scheme, key);
    addTo(this.#texts, scheme, text);
  }

  #addTemplate(key: string, text: string): void {
    const template = parseTemplate(text);
    if (template === undefined) return;
    const scheme = schemeOf(text);
    const byKey = this.#templates.get(scheme) ?? new Map<string, OwnTemplate[]>();
    this.#templates.set(scheme, byKey);
    const own = byKey.get(key);
    if (own === undefined) byKey.set(key, [{ text, template }]);
    else own.push({ text, template });
  }

  /**
   * What clients see instead of a URI or template that a server names, in lists and in results. It
   * leads back to that server, or is a web address that nobody lists, which clients fetch themselves.
   *
   * @param key the server
   * @param uri as the server knows it
   * @param matchBudget what may be spent on finding out whether it leads back as it is; once that
   * is over
   *   it gets the server's prefix
   */
  exposed(key: string, uri: string, matchBudget?: MatchBudget): string {
    if (this.#prefixed.size === 0) return uri;
    if (isAppPage(uri)) return wrapUri(key, uri);
    const owners = this.#listed.get(uri);
    const isUnchanged =
      owners?.has(key) === true
        ? owners.size === 1 && !this.#isWrapped(uri) && !hasOpenScheme(uri) && !this.#isTaken(uri)
        : (owners === undefined && /^https?:/i.test(uri)) || this.#leadsTo(key, uri, matchBudget);
    return isUnchanged ? uri : wrapUri(key, uri);
  }

  /**
   * Where a URI or template that a client names leads.
   *
   * @param exposed as the client knows it
   * @param sees what the client sees; of anything else nothing is to be noticed
   * @param matchBudget told what it took
   * @returns the server and what it calls it, or all that may have it
   */
  resolve(
    exposed: string,
    sees: ResourceVisibility = EVERYTHING,
    matchBudget?: MatchBudget,
  ): UriTarget {
    const as = (key: string): UriOwner => ({ key, uri: exposed });
    const wrapped = unwrapUri(this.#prefixed, exposed);
    if (wrapped !== undefined && sees.server(wrapped.key)) return { kind: 'one', ...wrapped };
    const all = this.#keys.map(as).filter((one) => sees.resource(one));
    const [only, ...others] = all;
    if (only !== undefined && others.length === 0) return { kind: 'one', ...only };
    const likely = [...this.#likely(exposed, matchBudget)]
      .map(as)
      .filter((one) => sees.resource(one));
    const [owner, ...rivals] = likely;
    if (owner !== undefined && rivals.length === 0) return { kind: 'one', ...owner };
    const keys = new Set([...likely, ...all].map(({ key }) => key));
    return { kind: 'several', targets: [...keys].map(as) };
  }

  /**
   * The servers that the first of these signs points at: listed or template, scheme, open template.
   * A list says no more than a template, or a server could take with it what is another's.
   */
  #likely(uri: string, matchBudget: MatchBudget | undefined): ReadonlySet<string> {
    const listed = this.#listed.get(uri);
    const scheme = schemeOf(uri);
    const byTemplate =
      scheme === undefined ? new Set<string>() : this.#matching(scheme, uri, matchBudget);
    if (listed !== undefined || byTemplate.size > 0) {
      return new Set(this.#keys.filter((key) => listed?.has(key) === true || byTemplate.has(key)));
    }
    const byScheme = scheme === undefined ? undefined : this.#schemes.get(scheme);
    return byScheme ?? this.#matching(undefined, uri, matchBudget);
  }

  #matching(
    scheme: string | undefined,
    uri: string,
    matchBudget: MatchBudget | undefined,
  ): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const [key, templates] of this.#templates.get(scheme) ?? []) {
      const own: MatchBudget = { left: SERVER_STEPS };
      if (templates.some(({ template }) => matchesTemplate(template, uri, own))) keys.add(key);
      if (matchBudget !== undefined) matchBudget.left -= SERVER_STEPS - own.left;
    }
    return keys;
  }

  /** Whether what a server lists could be another one's too: one of them says so with a template. */
  #isTaken(text: string): boolean {
    const scheme = schemeOf(text);
    // Templates without a scheme are always wrapped.
    return scheme !== undefined && this.#taken.get(scheme)?.has(text) === true;
  }

  *#findTaken(): StepsTo<void> {
    for (const [scheme, keys] of this.#schemes) {
      if (keys.size === 1) continue;
      this.#taken.set(scheme, yield* this.#takenOf(scheme));
    }
  }

  *#takenOf(scheme: string): StepsTo<ReadonlySet<string>> {
    const taken = new Set<string>();
    const texts = this.#texts.get(scheme) ?? new Set();
    const matchBudget: MatchBudget = { left: SCHEME_STEPS };
    for (const [key, templates] of this.#templates.get(scheme) ?? []) {
      for (const text of texts) {
        const before = matchBudget.left;
        if (!this.#hasOnly(key, text)) noteTaken(text, templates, matchBudget, taken);
        if (matchBudget.left < 0) return texts;
        yield STEP_COST * (before - matchBudget.left);
      }
    }
    return taken;
  }

  #hasOnly(key: string, text: string): boolean {
    const owners = this.#listed.get(text);
    return owners?.size === 1 && owners.has(key);
  }

  #leadsTo(key: string, uri: string, matchBudget: MatchBudget | undefined): boolean {
    // Nobody could ask for it.
    if (uri.length > TEXT_LIMITS.uri) return false;
    if (matchBudget !== undefined) {
      matchBudget.left -= LOOK_UP;
      if (matchBudget.left < 0) return false;
    }
    const target = this.resolve(uri, EVERYTHING, matchBudget);
    return target.kind === 'one' && target.key === key && target.uri === uri;
  }

  #isWrapped(uri: string): boolean {
    return unwrapUri(this.#prefixed, uri) !== undefined;
  }
}

/** Notes a text of one server and those templates of another that match it. */
function noteTaken(
  text: string,
  templates: readonly OwnTemplate[],
  matchBudget: MatchBudget,
  taken: Set<string>,
): void {
  for (const { text: own, template } of templates) {
    if (matchesTemplate(template, text, matchBudget)) taken.add(text).add(own);
  }
}

/** Whether a template can become a URI of any scheme, so also one that looks wrapped. */
function hasOpenScheme(text: string): boolean {
  return text.includes('{') && schemeOf(text) === undefined;
}

function addTo(map: Map<string, Set<string>>, at: string, key: string): void {
  const keys = map.get(at);
  if (keys === undefined) map.set(at, new Set([key]));
  else keys.add(key);
}
