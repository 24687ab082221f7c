// What an endpoint shows of one server's lists: the entries that are accepted (pins) and allowed, with
// changed texts (shaping). Made once for each list.
import { eachItem, type StepsTo } from '../base/steps.ts';
import { type Logger, someOf } from '../observe/logger.ts';
import type { TrustMode } from './catalog-options.ts';
import { LISTS, type ListMethod } from './list-kinds.ts';
import type { Pins, PinVerdict } from './pins/pins.ts';
import { ResourceFilter } from './resource-filter.ts';
import type { ListedEntry, ServerList } from './server-list.ts';
import {
  type ArgumentRule,
  argumentRules,
  NameShaping,
  shapedPrompt,
  shapedTool,
  toolLimits,
} from './shaping.ts';
import type { EntryOverride, ShapingOptions, ToolOverride } from './shaping-options.ts';

/** How a tool is called, if not exactly as the client says. */
export interface ToolPolicy {
  readonly arguments: ReadonlyMap<string, ArgumentRule>;
  /** Time without an answer or progress, in milliseconds; undefined: the server's timeout. */
  readonly timeoutMs: number | undefined;
  /** Calls at the same time; undefined: any number. */
  readonly concurrency: number | undefined;
}

/** Comparing a definition with the accepted one takes so many times longer than reading it. */
const PIN_COST = 4;

/** An entry that is shown, before the endpoint gives it its name. */
export interface ShownEntry {
  /** The server's own name. */
  readonly upstream: string;
  /** The name that it should get. */
  readonly name: string;
  readonly text: Buffer;
  /** The text that the server sent. */
  readonly ownText: Buffer;
  /** For a tool; undefined: it is called as the client says. */
  readonly toolPolicy: ToolPolicy | undefined;
}

/** The options about one server of an endpoint. */
export interface MemberCatalogOptions {
  readonly key: string;
  /** The server's own options first, then the endpoint's. */
  readonly shaping: readonly (ShapingOptions | undefined)[];
  readonly pin: TrustMode;
}

/** What an endpoint shows of one server. */
export class MemberCatalog {
  readonly key: string;
  readonly #pin: TrustMode;
  readonly #pins: Pins;
  readonly #logger: Logger;
  readonly #tools: NameShaping<ToolOverride>;
  readonly #prompts: NameShaping<EntryOverride>;
  readonly #resources: ResourceFilter;
  readonly #shown = new WeakMap<ServerList, readonly ShownEntry[]>();

  constructor(
    options: MemberCatalogOptions,
    parts: { readonly pins: Pins; readonly logger: Logger },
  ) {
    const { key, shaping, pin } = options;
    this.key = key;
    this.#pin = pin;
    this.#pins = parts.pins;
    this.#logger = parts.logger;
    this.#tools = new NameShaping(shaping.map((level) => level?.tools));
    this.#prompts = new NameShaping(shaping.map((level) => level?.prompts));
    this.#resources = new ResourceFilter(shaping.map((level) => level?.resources));
  }

  /** The entries of a list that are shown. */
  *shown(method: ListMethod, list: ServerList | undefined): StepsTo<readonly ShownEntry[]> {
    if (list === undefined) return [];
    let entries = this.#shown.get(list);
    if (entries === undefined) {
      entries = yield* this.#show(method, yield* withoutDoubles(list.entries));
      this.#shown.set(list, entries);
    }
    return entries;
  }

  /** Whether clients may use a resource, even if it is not listed. The URI is the server's own. */
  showsResource(uri: string): boolean {
    return this.#resources.passes(uri);
  }

  *#show(method: ListMethod, entries: readonly ListedEntry[]): StepsTo<readonly ShownEntry[]> {
    const shownEntries: ShownEntry[] = [];
    if (LISTS[method].kind === 'resources') {
      const show = (entry: ListedEntry): void => {
        if (this.#resources.passes(entry.name)) shownEntries.push(asItIs(entry));
      };
      yield* eachItem(entries, show, () => this.#resources.passCost);
      return shownEntries;
    }
    const isTools = method === 'tools/list';
    const accepted = isTools ? yield* this.#accepted(entries) : entries;
    const shaping = isTools ? this.#tools : this.#prompts;
    const { shown, conflicting } = yield* shaping.names(accepted.map(({ name }) => name));
    if (conflicting.length > 0) {
      this.#logger.warn(
        { server: this.key, method, ...someOf(conflicting) },
        'entries are not shown, because other entries were renamed to their names',
      );
    }
    yield* eachItem(accepted, (entry) => {
      const name = shown.get(entry.name);
      if (name === undefined) return;
      shownEntries.push(isTools ? this.#tool(entry, name) : this.#prompt(entry, name));
    });
    return shownEntries;
  }

  #tool({ name: upstream, text }: ListedEntry, name: string): ShownEntry {
    const overrides = this.#tools.overrides(upstream);
    const toolPolicy = { arguments: argumentRules(overrides), ...toolLimits(overrides) };
    const hasPolicy =
      toolPolicy.arguments.size > 0 ||
      toolPolicy.timeoutMs !== undefined ||
      toolPolicy.concurrency !== undefined;
    return {
      upstream,
      name,
      text: shapedTool(text, overrides),
      ownText: text,
      toolPolicy: hasPolicy ? toolPolicy : undefined,
    };
  }

  #prompt({ name: upstream, text }: ListedEntry, name: string): ShownEntry {
    const shaped = shapedPrompt(text, this.#prompts.overrides(upstream));
    return { upstream, name, text: shaped, ownText: text, toolPolicy: undefined };
  }

  /** Tools whose definition was not accepted are reported or withheld. */
  *#accepted(entries: readonly ListedEntry[]): StepsTo<readonly ListedEntry[]> {
    if (this.#pin === 'off') return entries;
    const accepted: ListedEntry[] = [];
    const others: { tool: string; verdict: PinVerdict }[] = [];
    const judge = (entry: ListedEntry): void => {
      const verdict = this.#pins.verdict(this.key, entry.text);
      if (verdict === 'pinned') accepted.push(entry);
      else others.push({ tool: entry.name, verdict });
    };
    yield* eachItem(entries, judge, ({ text }) => PIN_COST * text.length);
    if (others.length === 0) return entries;
    const isWithheld = this.#pin === 'enforce';
    this.#logger.warn(
      { server: this.key, isWithheld, ...someOf(others) },
      'definitions of tools differ from the accepted ones: check and accept them with `sluice pin`',
    );
    return isWithheld ? accepted : entries;
  }
}

/** Keeps the first one of two entries with the same name. */
function* withoutDoubles(entries: readonly ListedEntry[]): StepsTo<readonly ListedEntry[]> {
  const distinct = new Map<string, ListedEntry>();
  yield* eachItem(entries, (entry) => {
    if (!distinct.has(entry.name)) distinct.set(entry.name, entry);
  });
  return distinct.size === entries.length ? entries : [...distinct.values()];
}

function asItIs({ name, text }: ListedEntry): ShownEntry {
  return { upstream: name, name, text, ownText: text, toolPolicy: undefined };
}
