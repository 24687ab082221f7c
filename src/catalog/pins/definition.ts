// The pinned part of a tool's definition, and its digest.
import { createHash } from 'node:crypto';
import { lastMember } from '../../jsonrpc/members.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import { canonicalJson } from './canonical-json.ts';

/**
 * Members that models don't see: data for programs, pictures, and how calls are sent. All other members are
 * pinned, also unknown ones.
 */
const NOT_PINNED: ReadonlySet<string> = new Set(['_meta', 'icons', 'execution']);

/** A tool's definition in the pinned form. */
export interface Definition {
  readonly name: string;
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string;
  /** Canonical JSON text of the pinned part, on several lines. */
  readonly text: string;
}

/** The name of a tool; undefined if it has none, or it is not a string. */
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
 * @param tool an entry of `tools/list`, as the server sent it
 * @returns undefined if it has no name, or is too large to be shown
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
