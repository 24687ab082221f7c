// A parsed file that still knows where every key and value stands. Owns interpolation of its scalars,
// and the way from a path to line and column.
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type Scalar,
  visit,
} from 'yaml';
import { plainText } from '../base/text-template.ts';
import { type InterpolationSource, interpolate, type OpenParts } from './interpolate.ts';
import type { ConfigIssue, ConfigPath, Fault } from './issues.ts';
import { formatPath } from './issues.ts';
import { parseText } from './syntax/syntax.ts';

/** Aliases may multiply a document at most this much. */
const MAX_ALIASES = 100;

/** A shorter secret may be part of any word, so only the whole value that has it can be masked. */
export const MIN_SECRET_PART = 4;

/** How the values of a file are read. */
export interface Reading {
  /** Path of the map of servers. */
  readonly servers: readonly string[];
  /** Whether anybody looks at the value at a path. */
  readonly isRead: (path: ConfigPath) => boolean;
  /** A value in the gateway's own words for variables, and what is wrong with it. */
  readonly rewrite?: (text: string) => {
    readonly text: string;
    readonly problems: readonly string[];
  };
}

/** One file. */
export class ConfigDocument {
  readonly file: string;
  /** Syntax and interpolation faults; positions are known already. */
  readonly issues: ConfigIssue[] = [];
  readonly warnings: ConfigIssue[] = [];
  /** Texts that came from outside the file: they are kept out of everything that is shown. */
  readonly secrets = new Set<string>();
  /** The files that values were to be read from. */
  readonly files = new Set<string>();
  /** False when there is no tree to look at. */
  readonly isReadable: boolean;
  readonly #text: string;
  readonly #lines = new LineCounter();
  readonly #document: Document;
  readonly #interpolated = new Set<unknown>();
  readonly #unresolved = new Set<unknown>();

  /** @throws RangeError when the nesting is deeper than the stack */
  constructor(file: string, text: string) {
    this.file = file;
    this.#text = text.replace(/^\uFEFF/, '');
    const { document, problems, warnings, isReadable } = parseText(file, this.#text, this.#lines);
    this.#document = document;
    this.isReadable = isReadable;
    this.issues.push(...problems.map(({ offset, message }) => this.#at(offset, '', message)));
    this.warnings.push(...warnings.map(({ offset, message }) => this.#at(offset, '', message)));
    if (this.isReadable) {
      this.#checkKeys();
    }
  }

  /** Replaces `${...}` in every string value, each once however many aliases it has. */
  interpolate(source: InterpolationSource, reading: Reading): void {
    visit(this.#document, {
      Scalar: (key, node, ancestors) => {
        if (key === 'key' || typeof node.value !== 'string' || !/[${]/.test(node.value)) return;
        const path = pathOf(node, ancestors);
        // What an alias repeats elsewhere may be read there.
        if (![...ancestors, node].some(hasAnchor) && !reading.isRead(path)) return;
        this.#interpolateScalar(node, path, source, reading);
      },
    });
  }

  /**
   * Gives an interpolated value the type that its option has: `port: ${PORT}` is a number there.
   *
   * @returns whether the value was changed
   */
  retype({ path, expected }: Fault): boolean {
    const { node } = this.#find(path);
    if (!isScalar(node) || !this.#interpolated.has(node)) return false;
    const { value } = node;
    if (typeof value !== 'string' || expected === undefined) return false;
    const fits = expected === 'number' ? /^-?\d{1,15}$/ : /^(true|false)$/;
    if (!fits.test(value)) return false;
    node.value = expected === 'number' ? Number(value) : value === 'true';
    return true;
  }

  /**
   * The document as plain values.
   *
   * @returns maps as objects; `__proto__` is an own key if it is there
   * @throws ReferenceError when aliases would multiply the document
   */
  toValue(): unknown {
    return this.#document.toJS({ maxAliasCount: MAX_ALIASES });
  }

  /** Whether the value at a path came from outside the file and must not be shown. */
  isInterpolated(path: ConfigPath): boolean {
    return this.#interpolated.has(this.#find(path).node);
  }

  /** Whether the value at a path has an issue already, so that another one would only be noise. */
  isUnresolved(path: ConfigPath): boolean {
    return this.#unresolved.has(this.#find(path).node);
  }

  /** Gives a fault its place. What isn't there is placed at the nearest thing above it. */
  locate(fault: Fault): ConfigIssue {
    const { node, key, isWhole } = this.#find(fault.path);
    const target = isWhole && fault.at === 'value' ? node : (key ?? node);
    return this.#at(target?.range?.[0] ?? 0, formatPath(fault.path), fault.message);
  }

  #interpolateScalar(
    node: Scalar,
    path: ConfigPath,
    source: InterpolationSource,
    { servers, rewrite }: Reading,
  ): void {
    // What an alias repeats elsewhere may be read by who does not expect open parts.
    const open = node.anchor === undefined ? openPartsAt(path, servers) : 'none';
    const { text, problems } = rewrite?.(String(node.value)) ?? { text: node.value, problems: [] };
    const result = problems.length === 0 ? interpolate(String(text), source, open) : undefined;
    for (const problem of result?.problems ?? problems) {
      this.issues.push(this.#at(node.range?.[0] ?? 0, formatPath(path), problem));
      this.#unresolved.add(node);
    }
    if (result === undefined) return;
    for (const file of result.files) this.files.add(file);
    for (const secret of result.secrets) {
      this.secrets.add(secret);
    }
    if (result.secrets.some((secret) => secret.length < MIN_SECRET_PART)) {
      this.secrets.add(plainText(result.value));
    }
    if (result.references.length > 0) {
      this.#interpolated.add(node);
    }
    node.value = result.value;
  }

  #at(offset: number, path: string, message: string): ConfigIssue {
    const { line, col } = this.#lines.linePos(Math.min(offset, this.#text.length));
    return { file: this.file, line: Math.max(line, 1), column: Math.max(col, 1), path, message };
  }

  // Walks as far as the path goes; `key` is the key node of the last step that was found.
  #find(path: ConfigPath): { node: Node | undefined; key: Node | undefined; isWhole: boolean } {
    let node: Node | undefined = this.#document.contents ?? undefined;
    let key: Node | undefined;
    for (const step of path) {
      const child = childOf(isAlias(node) ? node.resolve(this.#document) : node, step);
      key = child.key ?? key;
      if (child.node === undefined) return { node, key, isWhole: false };
      node = child.node;
    }
    return {
      node: isAlias(node) ? (node.resolve(this.#document) ?? node) : node,
      key,
      isWhole: true,
    };
  }

  #checkKeys(): void {
    visit(this.#document, {
      Pair: (_, pair, ancestors) => {
        const node = pair.key as Node | null;
        const offset = node?.range?.[0] ?? 0;
        const path = formatPath(pathOf(undefined, ancestors));
        if (!isScalar(node) || node.value === null || typeof node.value === 'object') {
          this.issues.push(this.#at(offset, path, 'has a key that is not a word: must be text'));
        } else if (node.value === '__proto__') {
          this.issues.push(this.#at(offset, path, 'unknown key "__proto__": remove it'));
        }
      },
    });
  }
}

function keyText(pair: Pair): string | undefined {
  return isScalar(pair.key) ? String((pair.key as Scalar).value) : undefined;
}

// The path of a node from what the visitor walked through.
function pathOf(node: unknown, ancestors: readonly unknown[]): ConfigPath {
  const path: (string | number)[] = [];
  const chain = [...ancestors, node];
  chain.forEach((item, index) => {
    if (isSeq(item)) {
      path.push(item.items.indexOf(chain[index + 1]));
    } else if (typeof item === 'object' && item !== null && 'key' in item && isScalar(item.key)) {
      path.push(String(item.key.value));
    }
  });
  return path;
}

function hasAnchor(node: unknown): boolean {
  return (isCollection(node) || isScalar(node)) && node.anchor !== undefined;
}

/** Where values may have parts that stay open until they are used. */
function openPartsAt(path: ConfigPath, servers: readonly string[]): OpenParts {
  if (!servers.every((key, index) => path[index] === key)) return 'none';
  const [, section, key] = path.slice(servers.length);
  if (section === 'env' || section === 'environment') return 'files and principal';
  if (section === 'headers' || section === 'http_headers') return 'files';
  return section === 'auth' && key === 'clientSecret' ? 'files' : 'none';
}

// The member of a map or list; a map's member without a value is its key.
function childOf(
  container: unknown,
  step: string | number,
): { node: Node | undefined; key: Node | undefined } {
  if (isMap(container)) {
    const pair = container.items.find((item) => keyText(item) === String(step));
    const key = pair?.key as Node | undefined;
    return { node: (pair?.value as Node | null | undefined) ?? key, key };
  }
  if (!isSeq(container)) return { node: undefined, key: undefined };
  const item = container.items[Number(step)] as Node | undefined;
  return { node: item, key: item };
}
