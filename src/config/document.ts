// A parsed file with the position of every key and value. Replaces `${...}` in its values, and finds the line
// and column of a path.
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

/** How much aliases may multiply a document. */
const MAX_ALIASES = 100;

/** A shorter secret may be a part of any word, so only a value that consists of it can be masked. */
export const MIN_SECRET_PART = 4;

/** How the values of a file are read. */
export interface Reading {
  /** The path of the map of servers. */
  readonly servers: readonly string[];
  /** Whether the value at a path is used. */
  readonly isRead: (path: ConfigPath) => boolean;
  /** Translates variables of a host's file to those of the gateway, and says what is wrong with them. */
  readonly rewrite?: (text: string) => {
    readonly text: string;
    readonly problems: readonly string[];
  };
}

/** One file. */
export class ConfigDocument {
  readonly file: string;
  /** Errors of syntax and of `${...}`, with their positions. */
  readonly issues: ConfigIssue[] = [];
  readonly warnings: ConfigIssue[] = [];
  /** Texts from outside the file. They are never shown. */
  readonly secrets = new Set<string>();
  /** The files that values were to be read from. */
  readonly files = new Set<string>();
  /** False if the file could not be parsed. */
  readonly isReadable: boolean;
  readonly #text: string;
  readonly #lines = new LineCounter();
  readonly #document: Document;
  readonly #interpolated = new Set<unknown>();
  readonly #unresolved = new Set<unknown>();

  /** @throws RangeError if the nesting is deeper than the stack */
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

  /** Replaces `${...}` in every string, once for each string even if it has several aliases. */
  interpolate(source: InterpolationSource, reading: Reading): void {
    visit(this.#document, {
      Scalar: (key, node, ancestors) => {
        if (key === 'key' || typeof node.value !== 'string' || !/[${]/.test(node.value)) return;
        const path = pathOf(node, ancestors);
        // An alias may repeat the value in a place that is used.
        if (![...ancestors, node].some(hasAnchor) && !reading.isRead(path)) return;
        this.#interpolateScalar(node, path, source, reading);
      },
    });
  }

  /**
   * Converts a replaced value to the type of its option: `port: ${PORT}` becomes a number.
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
   * @returns maps as objects; `__proto__` is an own key if it is there
   * @throws ReferenceError if aliases would multiply the document too much
   */
  toValue(): unknown {
    return this.#document.toJS({ maxAliasCount: MAX_ALIASES });
  }

  /** Whether the value at a path came from outside the file, and must not be shown. */
  isInterpolated(path: ConfigPath): boolean {
    return this.#interpolated.has(this.#find(path).node);
  }

  /** Whether there is an error about the value at a path already, so that another one would be of no use. */
  isUnresolved(path: ConfigPath): boolean {
    return this.#unresolved.has(this.#find(path).node);
  }

  /**
   * Adds the position to an error. If the path does not exist, the position is that of the nearest parent.
   */
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
    // An alias may repeat the value in a place where templates are not allowed.
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

  // Follows a path as far as it exists; `key` is the key node of the last step.
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

// The path of a node, from its ancestors.
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

/** Which templates are allowed in the value at a path. */
function openPartsAt(path: ConfigPath, servers: readonly string[]): OpenParts {
  if (!servers.every((key, index) => path[index] === key)) return 'none';
  const [, section, key] = path.slice(servers.length);
  if (section === 'env' || section === 'environment') return 'files and principal';
  if (section === 'headers' || section === 'http_headers') return 'files';
  return section === 'auth' && key === 'clientSecret' ? 'files' : 'none';
}

// The member of a map or list. If a member of a map has no value, it is the key.
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
