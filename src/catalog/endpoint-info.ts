// What an endpoint with several servers says of itself (docs/protocol.md#merged-endpoints): the union
// of what they offer, and what each wants to be known.
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { TASKS_EXTENSION } from '../mcp/meta.ts';

const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;
/** Extensions of tools and resources, which work for each server alone. */
const ROUTED_EXTENSIONS = ['io.modelcontextprotocol/ui', TASKS_EXTENSION] as const;
const MAX_INSTRUCTIONS = 32 * 1024;
const BETWEEN = '\n\n';

/** One server's part. */
export interface MemberInfo {
  readonly key: string;
  /** What its clients may use; undefined while it is not known. */
  readonly capabilities: JsonObject | undefined;
  readonly instructions: unknown;
  /** What stands before the names of all its tools and prompts. */
  readonly namePrefix?: string | undefined;
}

/** What clients may use. A server that is not known yet may have any list. */
export function mergedCapabilities(parts: readonly MemberInfo[]): JsonObject {
  const all = parts.map(({ capabilities }) => capabilities);
  const has = (kind: string): boolean => all.some((one) => one?.[kind] !== undefined);
  const isOpen = all.includes(undefined);
  const merged: Record<string, unknown> = {};
  for (const kind of LIST_KINDS) {
    // The gateway itself tells when a server comes or goes.
    if (isOpen || has(kind)) merged[kind] = { listChanged: true };
  }
  const canSubscribe = all.some(
    (one) => isObject(one?.['resources']) && one['resources']['subscribe'] === true,
  );
  if (canSubscribe) merged['resources'] = { subscribe: true, listChanged: true };
  for (const kind of ['completions', 'logging']) if (has(kind)) merged[kind] = {};
  const tasks = mergedTasks(all);
  if (tasks !== undefined) merged['tasks'] = tasks;
  const extensions = ROUTED_EXTENSIONS.flatMap((name) => {
    const [value] = all.flatMap((one) => extensionOf(one, name));
    return value === undefined ? [] : [[name, value] as const];
  });
  if (extensions.length > 0) merged['extensions'] = Object.fromEntries(extensions);
  return merged;
}

/** Tasks of several servers can't be listed as one: their pages have no common order. */
function mergedTasks(all: readonly (JsonObject | undefined)[]): JsonObject | undefined {
  const tasks = all.flatMap((one) => (isObject(one?.['tasks']) ? [one['tasks']] : []));
  if (tasks.length === 0) return undefined;
  const canCancel = tasks.some(({ cancel }) => cancel !== undefined);
  return { ...(canCancel ? { cancel: {} } : {}), requests: { tools: { call: {} } } };
}

/** The instructions of all servers under their names; undefined where none has any. */
export function mergedInstructions(parts: readonly MemberInfo[]): string | undefined {
  const texts = parts.flatMap(({ key, namePrefix, instructions }) => {
    if (typeof instructions !== 'string' || instructions === '') return [];
    // A server knows its tools by their own names only.
    const names = namePrefix ? `Here NAME of a tool or prompt is called ${namePrefix}NAME.\n` : '';
    return [`## ${key}\n${names}${instructions}`];
  });
  if (texts.length === 0) return undefined;
  const lengths = texts.map(({ length }) => length + BETWEEN.length);
  const most = evenShare(lengths, MAX_INSTRUCTIONS) - BETWEEN.length;
  return texts.map((text) => text.slice(0, most)).join(BETWEEN);
}

/** What the longest may have, so that all have room: short ones leave theirs to the others. */
function evenShare(lengths: readonly number[], room: number): number {
  let left = room;
  const sorted = lengths.toSorted((a, b) => a - b);
  for (const [i, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - i));
    if (length > share) return share;
    left -= length;
  }
  return room;
}

function extensionOf(capabilities: JsonObject | undefined, name: string): unknown[] {
  const extensions = capabilities?.['extensions'];
  return isObject(extensions) && extensions[name] !== undefined ? [extensions[name]] : [];
}
