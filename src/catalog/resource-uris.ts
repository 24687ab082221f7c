// URIs of resources at a merged endpoint (docs/protocol.md#merged-endpoints). A URI is unchanged as long as,
// by all lists and templates, only one server has it. Otherwise the server's name is put before the scheme:
// `fs+file:///a`. URIs that begin with such a prefix are always wrapped, so removing it is exact. Hosts
// recognize app pages by their scheme `ui:`, so these keep the scheme, and always have the server's name
// after it: `ui://fs+page` (MCP Apps, SEP-1865).
import { eachItem, type StepsTo } from '../base/steps.ts';
import { TEXT_LIMITS } from '../base/text-limits.ts';
import {
  type MatchBudget,
  matchesTemplate,
  parseTemplate,
  schemeOf,
  type UriTemplate,
} from './uri-templates.ts';

/** The resources of one server. */
export interface ResourceMember {
  /** The server's configured name. */
  readonly key: string;
  /** Whether it may have resources: it declares them, or it is not known yet. */
  readonly hasResources: boolean;
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}

/** The owner of a URI. */
export interface UriOwner {
  readonly key: string;
  /** The server's own URI. */
  readonly uri: string;
}

/** Where a URI leads. */
export type UriTarget =
  | ({ readonly kind: 'one' } & UriOwner)
  /** Any of these servers may have it; the likeliest one first. Empty if no server has resources. */
  | { readonly kind: 'several'; readonly targets: readonly UriOwner[] };

/** What one client may see of the servers of an endpoint. */
export interface ResourceVisibility {
  /** Whether it may see anything of a server. */
  server(key: string): boolean;
  /** Whether it may use a resource, if that exists. */
  resource(owner: UriOwner): boolean;
}

const EVERYTHING: ResourceVisibility = { server: () => true, resource: () => true };

/**
 * The prefix for a server's URIs. It makes a valid scheme of any scheme.
 * @param key a server's name
 */
export function schemePrefix(key: string): string {
  // A scheme must start with a letter. Server names have no dots, so `x.` is unique.
  return /^[a-z]/.test(key) ? `${key}+` : `x.${key}+`;
}

const APP_PAGE = 'ui://';

/** Whether a URI is that of an app page. */
export function isAppPage(uri: string): boolean {
  return uri.slice(0, APP_PAGE.length).toLowerCase() === APP_PAGE;
}

/**
 * Puts a server's prefix before a URI or template, or after the scheme of an app page.
 * @param key a server's name
 * @param uri the server's own
 */
export function wrapUri(key: string, uri: string): string {
  if (isAppPage(uri)) return `${APP_PAGE}${key}+${uri.slice(APP_PAGE.length)}`;
  return schemePrefix(key) + uri;
}

/**
 * Removes a prefix. Schemes are not case-sensitive, so neither is the prefix.
 * @param keys names of servers
 * @param uri the client's
 * @returns undefined if it does not begin with the prefix of one of these servers
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

/** The templates of one server that a URI is compared with. */
export const MAX_MATCHED_TEMPLATES = 1_000;
/**
 * What comparing a URI with the templates of one server may cost; later templates are ignored. Each server
 * has this budget, so that none uses up the budget of another.
 */
const SERVER_STEPS = 50_000;
/**
 * For each scheme: what it may cost to find URIs of one server that match a template of another one. If it
 * would cost more, all URIs of that scheme get prefixes.
 */
const SCHEME_STEPS = 400_000;
/** The cost of one such step, in bytes. */
const STEP_COST = 4;
/** The cost of looking up a URI, in addition to the templates. */
const LOOK_UP = 64;

/** A template, with the text that the server sent. */
interface OwnTemplate {
  readonly text: string;
  readonly template: UriTemplate;
}

/** Maps the URIs of one endpoint in both directions. */
export class ResourceTable {
  /** All servers that may have resources, in the order of the configuration. */
  readonly #keys: readonly string[];
  /** Names that may be prefixes; empty with only one server, whose URIs are all unchanged. */
  readonly #prefixed: ReadonlySet<string>;
  /** Each listed URI and template, with the servers that list it. */
  readonly #listed = new Map<string, Set<string>>();
  readonly #schemes = new Map<string, Set<string>>();
  /** The listed URIs and templates, by scheme. */
  readonly #texts = new Map<string, Set<string>>();
  /** Those of them that may be another server's too. */
  readonly #taken = new Map<string, ReadonlySet<string>>();
  /**
   * By scheme. Those without a fixed scheme may match any URI; they are used only if nothing else is known.
   */
  readonly #templates = new Map<string | undefined, Map<string, OwnTemplate[]>>();

  private constructor(members: readonly ResourceMember[]) {
    this.#keys = members.filter(({ hasResources }) => hasResources).map(({ key }) => key);
    this.#prefixed = new Set(members.length > 1 ? members.map(({ key }) => key) : []);
  }

  /** @param members all servers of the endpoint, in the order of the configuration */
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
   * The URI or template for clients, in lists and results. It leads back to that server. Web URLs that no
   * server lists are unchanged, because clients fetch them themselves.
   * @param key the server
   * @param uri the server's own
   * @param matchBudget what it may cost to find out whether the unchanged URI leads back; without budget it
   *   gets a prefix
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
   * Finds the server of a URI or template that a client names.
   * @param exposed the client's
   * @param sees what the client may see; nothing else may influence the result
   * @param matchBudget reduced by the cost
   * @returns the server and its own URI, or all servers that may have it
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
   * The servers with the first of these signs: in a list or matching a template, same scheme, template with
   * an open scheme. A list counts no more than a template. Otherwise a server could take over another
   * server's URIs by listing them.
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

  /**
   * Whether something that a server lists may be another server's too, according to a template of the other
   * one.
   */
  #isTaken(text: string): boolean {
    const scheme = schemeOf(text);
    // Templates without a fixed scheme are always wrapped.
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
    // No client can ask for it.
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

/** Notes a text of one server, with the templates of other servers that match it. */
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

/** Whether a template may become a URI of any scheme, even one that looks wrapped. */
function hasOpenScheme(text: string): boolean {
  return text.includes('{') && schemeOf(text) === undefined;
}

function addTo(map: Map<string, Set<string>>, at: string, key: string): void {
  const keys = map.get(at);
  if (keys === undefined) map.set(at, new Set([key]));
  else keys.add(key);
}
