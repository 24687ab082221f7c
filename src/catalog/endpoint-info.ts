// What a merged endpoint says about itself (docs/protocol.md#merged-endpoints): the capabilities of all its
// servers, and their instructions.
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { TASKS_EXTENSION } from '../mcp/meta.ts';

const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;
/** Extensions of tools and resources that work for each server separately. */
const ROUTED_EXTENSIONS = ['io.modelcontextprotocol/ui', TASKS_EXTENSION] as const;
const MAX_INSTRUCTIONS = 32 * 1024;
const BETWEEN = '\n\n';

/** One server's part. */
export interface MemberInfo {
  readonly key: string;
  /** What its clients may use; undefined while it is not known. */
  readonly capabilities: JsonObject | undefined;
  readonly instructions: unknown;
  /** The prefix of all its tools and prompts. */
  readonly namePrefix?: string | undefined;
}

/** The union of all capabilities. A server that is not known yet may have any list. */
export function mergedCapabilities(parts: readonly MemberInfo[]): JsonObject {
  const all = parts.map(({ capabilities }) => capabilities);
  const has = (kind: string): boolean => all.some((one) => one?.[kind] !== undefined);
  const isOpen = all.includes(undefined);
  const merged: Record<string, unknown> = {};
  for (const kind of LIST_KINDS) {
    // The gateway itself announces that the entries of a server appear or disappear.
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

/** The tasks of several servers can't be listed together, because their pages have no common order. */
function mergedTasks(all: readonly (JsonObject | undefined)[]): JsonObject | undefined {
  const tasks = all.flatMap((one) => (isObject(one?.['tasks']) ? [one['tasks']] : []));
  if (tasks.length === 0) return undefined;
  const canCancel = tasks.some(({ cancel }) => cancel !== undefined);
  return { ...(canCancel ? { cancel: {} } : {}), requests: { tools: { call: {} } } };
}

/** The instructions of all servers, each under the server's name; undefined if there are none. */
export function mergedInstructions(parts: readonly MemberInfo[]): string | undefined {
  const texts = parts.flatMap(({ key, namePrefix, instructions }) => {
    if (typeof instructions !== 'string' || instructions === '') return [];
    // A server's instructions use the server's own tool names.
    const names = namePrefix ? `Here NAME of a tool or prompt is called ${namePrefix}NAME.\n` : '';
    return [`## ${key}\n${names}${instructions}`];
  });
  if (texts.length === 0) return undefined;
  const lengths = texts.map(({ length }) => length + BETWEEN.length);
  const most = evenShare(lengths, MAX_INSTRUCTIONS) - BETWEEN.length;
  return texts.map((text) => text.slice(0, most)).join(BETWEEN);
}

/** The longest length so that all fit: room that short ones don't need goes to the others. */
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
