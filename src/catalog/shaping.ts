// Which tools and prompts of a server clients see, and with which names and texts. The options of the
// server's entry are applied first, then those of the endpoint. Names come first, because what has no name
// can't be called; then the text of each entry. Everything else is copied.

import { eachItem, type StepsTo } from '../base/steps.ts';
import { EMPTY_OBJECT, OPEN_BRACE } from '../jsonrpc/json-text.ts';
import { editObject, lastMember, type Member, membersOf, memberText } from '../jsonrpc/members.ts';
import { parseString, splitArray } from '../jsonrpc/parse.ts';
import { jsonBytes, jsonText } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { type Filter, passesFilter } from './globs.ts';
import type { EntryOverride, ToolOverride } from './shaping-options.ts';

/** What happens to an argument that clients don't see. */
export interface ArgumentRule {
  /** `value` replaces what the client sends; `default` is added if the client sends nothing. */
  readonly kind: 'value' | 'default';
  /** JSON text. */
  readonly text: string;
}

/** The options of one level about tools or prompts, by the names of the level below. */
interface NamedOptions<Override extends EntryOverride> extends Filter {
  readonly rename?: Readonly<Record<string, string>> | undefined;
  readonly overrides?: Readonly<Record<string, Override>> | undefined;
}

/** A name that is not shown, because another tool was renamed to it. */
export interface ConflictingName {
  readonly name: string;
  readonly by: string;
}

/** The shown names. */
export interface ShapedNames {
  /** The shown name by the server's own name, in the order of the list. */
  readonly shown: ReadonlyMap<string, string>;
  /** With the server's own names. */
  readonly conflicting: readonly ConflictingName[];
}

/** Limits for calls of a tool. */
export interface ToolLimits {
  /** Time without an answer or progress, in milliseconds; undefined: the server's timeout. */
  readonly timeoutMs: number | undefined;
  /** Calls at the same time; undefined: any number. */
  readonly concurrency: number | undefined;
}

/** The options of all levels about the tools or the prompts of one server. */
export class NameShaping<Override extends EntryOverride> {
  readonly #levels: readonly NamedOptions<Override>[];

  /** @param levels the server's own first, then the endpoint's */
  constructor(levels: readonly (NamedOptions<Override> | undefined)[]) {
    this.#levels = levels.filter((level) => level !== undefined);
  }

  /**
   * The shown names of a list.
   * @param own the server's own, distinct
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
   * The options about one entry; each level has them under its own name for it.
   * @param own the server's own name
   * @returns the server's own options first
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
 * The entry of a prompt, with replaced texts.
 * @param entry JSON text, an object
 * @param overrides the server's own first; later ones win
 * @returns the entry itself if nothing changes
 */
export function shapedPrompt(entry: Buffer, overrides: readonly EntryOverride[]): Buffer {
  return overrides.reduce((text, override) => withMembers(text, wordsOf(override)), entry);
}

/**
 * The entry of a tool, with replaced texts, and without the arguments that clients don't see.
 * @param entry JSON text, an object
 * @param overrides the server's own first; later ones win
 * @returns the entry itself if nothing changes
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
 * The rules for hidden arguments of a tool. An endpoint can't change a `value` of the server's entry; its
 * `default` wins.
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
 * The limits of a tool: the endpoint's timeout wins, and the smaller concurrency.
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

/** A schema without some properties; they are not required either. */
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

/** An object with some members replaced in their place, or added at the end. */
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

/** Names come from servers and may be properties of every object, such as `constructor`. */
function ownValue<T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
