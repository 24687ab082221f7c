// The methods of 2026-07-28: which capability each needs, and which headers it has.
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { TASKS_EXTENSION } from './meta.ts';
import {
  COMPLETE,
  isNotification,
  PROMPTS_GET,
  PROMPTS_LIST,
  RESOURCES_LIST,
  RESOURCES_READ,
  TEMPLATES_LIST,
  TOOLS_CALL,
  TOOLS_LIST,
} from './methods.ts';

export const DISCOVER = 'server/discover';
export const LISTEN = 'subscriptions/listen';
/** A server with the tasks extension sends this when the state of a task changes. */
export const TASK_UPDATE = 'notifications/tasks';
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

interface MethodRow {
  /** The server capability that the method needs. */
  readonly needs?: string;
  /** The member of `params` that `Mcp-Name` repeats. */
  readonly named?: 'name' | 'uri' | 'taskId';
  /** Whether results say how long they may be cached (SEP-2549). */
  readonly isCacheable?: boolean;
  /** Whether the server may answer with `input_required` (basic/patterns/mrtr). */
  readonly mayAsk?: boolean;
}

const METHODS: ReadonlyMap<string, MethodRow> = new Map<string, MethodRow>([
  [DISCOVER, { isCacheable: true }],
  [LISTEN, {}],
  [TOOLS_LIST, { needs: 'tools', isCacheable: true }],
  [TOOLS_CALL, { needs: 'tools', named: 'name', mayAsk: true }],
  [PROMPTS_LIST, { needs: 'prompts', isCacheable: true }],
  [PROMPTS_GET, { needs: 'prompts', named: 'name', mayAsk: true }],
  [RESOURCES_LIST, { needs: 'resources', isCacheable: true }],
  [TEMPLATES_LIST, { needs: 'resources', isCacheable: true }],
  [RESOURCES_READ, { needs: 'resources', named: 'uri', isCacheable: true, mayAsk: true }],
  [COMPLETE, { needs: 'completions' }],
  ['tasks/get', { named: 'taskId' }],
  ['tasks/update', { named: 'taskId' }],
  ['tasks/cancel', { named: 'taskId' }],
]);

// Methods that only legacy revisions have; answered with -32601 (docs/protocol.md#gw-030, #gw-132).
const LEGACY_ONLY: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/result',
  'tasks/list',
]);

/** Whether a modern client may call `method`. */
export function isModernMethod(method: string): boolean {
  return METHODS.has(method);
}

/** Whether no modern request has `method`. */
export function isNoModernRequest(method: string): boolean {
  return LEGACY_ONLY.has(method) || isNotification(method);
}

/** Whether a server with these capabilities supports `method`. */
export function isOffered(method: string, capabilities: JsonObject): boolean {
  if (method.startsWith('tasks/')) return hasTasks(capabilities);
  const needs = METHODS.get(method)?.needs;
  return needs === undefined || capabilities[needs] !== undefined;
}

/** Whether the tasks extension is declared. */
export function hasTasks(capabilities: JsonObject): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && extensions[TASKS_EXTENSION] !== undefined;
}

/** The member of `params` that `Mcp-Name` repeats, if any. */
export function namedBy(method: string): 'name' | 'uri' | 'taskId' | undefined {
  return METHODS.get(method)?.named;
}

/** Whether results of `method` carry `ttlMs` and `cacheScope`. */
export function isCacheable(method: string): boolean {
  return METHODS.get(method)?.isCacheable === true;
}

/** Whether `method` may be answered with `input_required`. */
export function mayAskInput(method: string): boolean {
  return METHODS.get(method)?.mayAsk === true;
}
