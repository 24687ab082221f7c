// What of a tool's definition is pinned, and the digest of it.
import { createHash } from 'node:crypto';
import { lastMember } from '../../jsonrpc/members.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { canonicalJson } from './canonical-json.ts';

/**
 * Members that no model is shown: what a server keeps with a tool for programs, pictures, and how
 * calls travel. All others count, those that nobody knows yet included.
 */
const NOT_PINNED: ReadonlySet<string> = new Set(['_meta', 'icons', 'execution']);

/** A tool's definition in the form in which it is pinned. */
export interface Definition {
  readonly name: string;
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string;
  /** Canonical JSON text of what is pinned, on several lines. */
  readonly text: string;
}

/** The name of a tool; undefined when it has none, or no text. */
export function nameOf(tool: Buffer): string | undefined {
  const name = lastMember(tool, 0, tool.length, 'name');
  return name && parseString(tool, name.valueStart, name.valueEnd);
}

/** The digest of a tool's definition. */
export function digestOf(tool: Buffer): string {
  const canonical = canonicalJson(tool, { isShown: false, keeps: isPinned });
  return `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
}

/**
 * Reads a definition.
 * @param tool an entry of `tools/list`, as the server wrote it
 * @returns undefined when it has no name, or is so large that nobody could look at it
 */
export function definitionOf(tool: Buffer): Definition | undefined {
  const name = nameOf(tool);
  const text = name === undefined ? undefined : shownText(tool);
  return name === undefined || text === undefined
    ? undefined
    : { name, digest: digestOf(tool), text };
}

function shownText(tool: Buffer): string | undefined {
  try {
    return canonicalJson(tool, { isShown: true, keeps: isPinned });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function isPinned(key: string): boolean {
  return !NOT_PINNED.has(key);
}
