// Errors of a configuration for people: `file:line:col: path: what is wrong and what would be right`. Makes
// them from the issues of schemas.
import type { z } from 'zod';
import { KNOWN_KEYS } from '../base/options.ts';
import { closestName } from './closest-name.ts';

/** Keys and list indexes, from the top of the document. */
export type ConfigPath = readonly (string | number)[];

/** One error or warning with its position. */
export interface ConfigIssue {
  readonly file: string;
  /** From 1; 0 for a flag of the command line, whose name is in `file`. */
  readonly line: number;
  /** From 1, in characters. */
  readonly column: number;
  /** `servers.files.timeouts.start`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

/** An error without its position. */
export interface Fault {
  readonly path: ConfigPath;
  /** Whether the key at `path` is wrong, or its value. */
  readonly at: 'key' | 'value';
  readonly message: string;
  /** Set if a number or boolean was expected, but something else was found. */
  readonly expected?: 'number' | 'boolean';
}

/** Collects errors and warnings about a configuration. */
export class Findings {
  readonly faults: Fault[] = [];
  readonly warnings: Fault[] = [];

  fault(path: ConfigPath, message: string, at: Fault['at'] = 'value'): void {
    this.faults.push({ path, at, message });
  }

  warn(path: ConfigPath, message: string, at: Fault['at'] = 'value'): void {
    this.warnings.push({ path, at, message });
  }

  /** Adds the findings about a part. `placeOf` translates their paths. */
  add({ faults, warnings }: Findings, placeOf: (path: ConfigPath) => ConfigPath): void {
    const placed = (fault: Fault): Fault => ({ ...fault, path: placeOf(fault.path) });
    this.faults.push(...faults.map(placed));
    this.warnings.push(...warnings.map(placed));
  }
}

/** A configuration that can't be used, with all its errors. */
export class ConfigError extends Error {
  readonly issues: readonly ConfigIssue[];
  /** Files that it names: it may be right when they are others. */
  readonly files: readonly string[];

  /** @param issues at least one, in the order of the file */
  constructor(issues: readonly ConfigIssue[], files: readonly string[] = []) {
    super(issues.map(formatIssue).join('\n'));
    this.name = 'ConfigError';
    this.issues = issues;
    this.files = files;
  }
}

/** `file:line:col: path: message`, or `--flag message`, without control characters. */
export function formatIssue(issue: ConfigIssue): string {
  if (issue.line === 0) return printable(`${issue.file} ${issue.message}`);
  const path = issue.path === '' ? '' : `${issue.path}: `;
  return printable(`${issue.file}:${issue.line}:${issue.column}: ${path}${issue.message}`);
}

/** A path with dots, `servers.files.args.0`. A key that is not a plain word is quoted. */
export function formatPath(path: ConfigPath): string {
  return path
    .map((key) =>
      /^[\w-]+$/.test(String(key)) ? String(key) : JSON.stringify(shorten(String(key))),
    )
    .join('.');
}

/**
 * Makes errors of the issues of a schema.
 * @param prefix path of the parsed value
 * @param isHidden whether the value at a path must not be shown, because it came from outside the file
 */
export function faultsOf(
  issues: readonly z.core.$ZodIssue[],
  prefix: ConfigPath,
  raw: unknown,
  isHidden: (path: ConfigPath) => boolean,
): Fault[] {
  return issues.flatMap((issue): Fault[] => {
    const own = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
    const path = [...prefix, ...own];
    if (issue.code === 'unrecognized_keys') {
      const known = knownKeys(issue.message);
      return issue.keys.map((key) => unknownKey([...path, key], known));
    }
    const value = valueAt(raw, own);
    const message = explain(issue.message, value, isHidden(path));
    const expected = issue.code === 'invalid_type' ? scalarOf(issue.expected) : undefined;
    return [{ path, at: 'value', message, ...(expected === undefined ? {} : { expected }) }];
  });
}

/** Suggests the closest known key, or lists all if none is close. */
function unknownKey(path: ConfigPath, known: readonly string[]): Fault {
  const key = String(path.at(-1));
  const near = closestName(key, known);
  const advice =
    near === undefined ? `must be one of ${known.join(', ')}` : `did you mean ${near}?`;
  return { path, at: 'key', message: `unknown key ${JSON.stringify(shorten(key))}: ${advice}` };
}

/** Describes a value of a file in a sentence: `"text"`, `the number 3`, `a list` and so on. */
export function describe(value: unknown, isHidden: boolean): string {
  if (isHidden && typeof value !== 'object' && value !== undefined && value !== '') {
    return 'a value from outside the file';
  }
  if (value === undefined) return 'missing';
  if (value === null || value === '') return 'empty';
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a map';
  return typeof value === 'boolean' ? String(value) : `the number ${String(value)}`;
}

// Messages of kinds say only what would be right; messages of rules are complete.
function explain(message: string, value: unknown, isHidden: boolean): string {
  if (!message.startsWith('must ')) return message;
  return `is ${describe(value, isHidden)}, ${message}`;
}

function knownKeys(message: string): string[] {
  return message.startsWith(KNOWN_KEYS) ? message.slice(KNOWN_KEYS.length).trim().split(' ') : [];
}

function scalarOf(expected: string): 'number' | 'boolean' | undefined {
  if (expected === 'number' || expected === 'int') return 'number';
  return expected === 'boolean' ? 'boolean' : undefined;
}

function valueAt(raw: unknown, path: ConfigPath): unknown {
  let value = raw;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function printable(text: string): string {
  // Control characters of a file must not reach a terminal.
  return text.replace(/\p{Cc}/gu, (char) => JSON.stringify(char).slice(1, -1));
}
