// The methods of 2026-07-28: what each needs of the server, and what stands in its headers.
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
/** What a server of the tasks extension says when a task is in another state. */
export const TASK_UPDATE = 'notifications/tasks';
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

interface MethodRow {
  /** Server capability that must be there. */
  readonly needs?: string;
  /** Member of `params` that `Mcp-Name` repeats. */
  readonly named?: 'name' | 'uri' | 'taskId';
  /** Whether results say how long they may be kept (SEP-2549). */
  readonly isCacheable?: boolean;
  /** Whether the server may answer with server requests (basic/patterns/mrtr). */
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

// What only the session era has; answered -32601 whatever the server says
// (docs/protocol.md#gw-030, #gw-132).
const LEGACY_ONLY: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/result',
  'tasks/list',
]);

/** Whether a modern client may call `method` at all. */
export function isModernMethod(method: string): boolean {
  return METHODS.has(method);
}

/** Whether no request of `method` is there in this era. */
export function isNoModernRequest(method: string): boolean {
  return LEGACY_ONLY.has(method) || isNotification(method);
}

/** Whether a server with these capabilities serves `method`. */
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

/** Whether `method` may be answered with server requests. */
export function mayAskInput(method: string): boolean {
  return METHODS.get(method)?.mayAsk === true;
}
