// What of a server's tools and prompts clients see, and under which names and words, as its entry and
// its endpoint say: one level on top of the other. Names first, since what isn't named can't be
// called; then the text of an entry. What isn't replaced is copied as it stands.

import { eachItem, type StepsTo } from '../base/steps.ts';
import { EMPTY_OBJECT, OPEN_BRACE } from '../jsonrpc/json-text.ts';
import { editObject, lastMember, type Member, membersOf, memberText } from '../jsonrpc/members.ts';
import { parseString, splitArray } from '../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { type Filter, passesFilter } from './globs.ts';
import type { EntryOverride, ToolOverride } from './shaping-options.ts';

/** What is done to an argument that clients don't see. */
export interface ArgumentRule {
  /** `value` stands whatever the client sends; `default` where it sends nothing. */
  readonly kind: 'value' | 'default';
  /** JSON text. */
  readonly text: string;
}

/** What one level says about tools or prompts, by old names. */
interface NamedOptions<Override extends EntryOverride> extends Filter {
  readonly rename?: Readonly<Record<string, string>> | undefined;
  readonly overrides?: Readonly<Record<string, Override>> | undefined;
}

/** A name that isn't shown, since another one was renamed to it. */
export interface ConflictingName {
  readonly name: string;
  readonly by: string;
}

/** What names become. */
export interface ShapedNames {
  /** What is shown, by the server's own name, in the order of the list. */
  readonly shown: ReadonlyMap<string, string>;
  /** By the server's own names. */
  readonly conflicting: readonly ConflictingName[];
}

/** How a tool is called. */
export interface ToolLimits {
  /** Without an answer or progress; undefined is the server's. */
  readonly timeoutMs: number | undefined;
  /** Calls at a time; undefined is any number. */
  readonly concurrency: number | undefined;
}

/** What the levels say about the tools or the prompts of one server. */
export class NameShaping<Override extends EntryOverride> {
  readonly #levels: readonly NamedOptions<Override>[];

  /** @param levels the server's own first, then the endpoint's */
  constructor(levels: readonly (NamedOptions<Override> | undefined)[]) {
    this.#levels = levels.filter((level) => level !== undefined);
  }

  /**
   * What the names of a list become.
   *
   * @param own as the server gives them, distinct
   */
  *names(own: readonly string[]): StepsTo<ShapedNames> {
    let shown = new Map<string, string>();
    yield* eachItem(own, (name) => shown.set(name, name));
    const conflicting: ConflictingName[] = [];
    for (const level of this.#levels) {
      const visible: [string, string][] = [];
      const renamed = new Map<string, string>();
      yield* eachItem(shown, (entry) => {
        const [first, name] = entry;
        if (!passesFilter(level, name)) return;
        visible.push(entry);
        const next = ownValue(level.rename, name);
        if (next !== undefined && next !== name) renamed.set(next, first);
      });
      shown = new Map();
      yield* eachItem(visible, ([first, name]) => {
        const next = ownValue(level.rename, name) ?? name;
        const by = renamed.get(next) ?? first;
        if (by === first) shown.set(first, next);
        else conflicting.push({ name: first, by });
      });
    }
    return { shown, conflicting };
  }

  /**
   * What the levels say about one entry, each by the name it knows.
   *
   * @param own the server's own name
   * @returns the server's own first
   */
  overrides(own: string): readonly Override[] {
    let name = own;
    return this.#levels.flatMap((level) => {
      const override = ownValue(level.overrides, name);
      name = ownValue(level.rename, name) ?? name;
      return override === undefined ? [] : [override];
    });
  }
}

/**
 * The entry of a prompt with what is shown instead.
 *
 * @param entry JSON text, an object
 * @param overrides the server's own first; later ones win
 * @returns the entry itself where nothing is said
 */
export function shapedPrompt(entry: Buffer, overrides: readonly EntryOverride[]): Buffer {
  return overrides.reduce((text, override) => withMembers(text, wordsOf(override)), entry);
}

/**
 * The entry of a tool with what is shown instead, and without the arguments that clients don't see.
 *
 * @param entry JSON text, an object
 * @param overrides the server's own first; later ones win
 * @returns the entry itself where nothing is said
 */
export function shapedTool(entry: Buffer, overrides: readonly ToolOverride[]): Buffer {
  return overrides.reduce((text, override) => {
    const set = wordsOf(override);
    const { annotations } = override;
    if (annotations !== undefined) {
      const members = Object.entries(annotations).filter(([, value]) => value !== undefined);
      const there = objectMember(text, 'annotations') ?? EMPTY_OBJECT;
      set.set(
        'annotations',
        withMembers(there, new Map(members.map(([k, v]) => [k, jsonBytes(v)]))),
      );
    }
    const hidden = new Set(Object.keys(override.arguments ?? {}));
    const schema = hidden.size === 0 ? undefined : objectMember(text, 'inputSchema');
    if (schema !== undefined) set.set('inputSchema', withoutProperties(schema, hidden));
    return withMembers(text, set);
  }, entry);
}

/**
 * What is done to the arguments of a tool. A value of the server's entry can't be undone by an
 * endpoint; of two defaults the endpoint's counts.
 *
 * @param overrides the server's own first
 * @returns by argument
 */
export function argumentRules(
  overrides: readonly ToolOverride[],
): ReadonlyMap<string, ArgumentRule> {
  const rules = new Map<string, ArgumentRule>();
  for (const { arguments: level } of overrides) {
    for (const [name, rule] of Object.entries(level ?? {})) {
      const kind = rule.value === undefined ? 'default' : 'value';
      const text = jsonText(rule[kind]);
      if (rules.get(name)?.kind !== 'value') rules.set(name, { kind, text });
    }
  }
  return rules;
}

/**
 * How a tool is called: the endpoint's timeout counts, and the smaller number of calls.
 *
 * @param overrides the server's own first
 */
export function toolLimits(overrides: readonly ToolOverride[]): ToolLimits {
  const timeoutMs = overrides.findLast(({ timeout }) => timeout !== undefined)?.timeout;
  const numbers = overrides.flatMap(({ concurrency }) => concurrency ?? []);
  return { timeoutMs, concurrency: numbers.length === 0 ? undefined : Math.min(...numbers) };
}

function wordsOf({ title, description }: EntryOverride): Map<string, Buffer> {
  const set = new Map<string, Buffer>();
  if (title !== undefined) set.set('title', jsonBytes(title));
  if (description !== undefined) set.set('description', jsonBytes(description));
  return set;
}

/** A schema without some properties: neither described nor required. */
function withoutProperties(schema: Buffer, hidden: ReadonlySet<string>): Buffer {
  const set = new Map<string, Buffer>();
  const properties = objectMember(schema, 'properties');
  if (properties !== undefined) {
    const remove = (key: string): boolean => hidden.has(key);
    set.set('properties', editObject(properties, 0, properties.length, { remove }));
  }
  const required = lastMember(schema, 0, schema.length, 'required');
  const names = required === undefined ? [] : splitArray(textOf(schema, required));
  const kept = names.filter((name) => !hidden.has(parseString(name, 0, name.length) ?? ''));
  const isNoneLeft = kept.length === 0 && names.length > 0;
  if (kept.length < names.length && !isNoneLeft) {
    const list = kept.map((name) => name.toString('utf8')).join(',');
    set.set('required', Buffer.from(`[${list}]`));
  }
  // Old drafts of JSON Schema allow no empty list.
  const text = isNoneLeft
    ? editObject(schema, 0, schema.length, { remove: (key) => key === 'required' })
    : schema;
  return withMembers(text, set);
}

/** Members set where they stand, or at the end. */
function withMembers(text: Buffer, set: ReadonlyMap<string, Buffer>): Buffer {
  let edited = text;
  for (const [key, value] of set) {
    const all = membersOf(edited, 0, edited.length).filter((member) => member.key === key);
    const [only] = all;
    edited =
      only !== undefined && all.length === 1
        ? replaceSpan(edited, only.valueStart, only.valueEnd, value)
        : editObject(edited, 0, edited.length, { set: new Map([[key, value]]) });
  }
  return edited;
}

function objectMember(text: Buffer, key: string): Buffer | undefined {
  const value = memberText(text, 0, text.length, key);
  return value?.[0] === OPEN_BRACE ? value : undefined;
}

function textOf(text: Buffer, { valueStart, valueEnd }: Member): Buffer {
  return text.subarray(valueStart, valueEnd);
}

/** Names come from servers: `constructor` is one. */
function ownValue<T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
