// The methods that the gateway handles in a special way. All others are passed on.

export const INITIALIZE = 'initialize';
export const INITIALIZED = 'notifications/initialized';
export const PING = 'ping';
export const CANCELLED = 'notifications/cancelled';
/** Not MCP: how language servers are told to cancel a request. */
export const CANCEL_REQUEST = '$/cancelRequest';
export const PROGRESS = 'notifications/progress';
export const MESSAGE = 'notifications/message';
export const RESOURCE_UPDATED = 'notifications/resources/updated';
export const ROOTS_LIST = 'roots/list';
export const ROOTS_CHANGED = 'notifications/roots/list_changed';
export const SAMPLING = 'sampling/createMessage';
export const ELICITATION = 'elicitation/create';
export const ELICITATION_COMPLETE = 'notifications/elicitation/complete';
export const SET_LEVEL = 'logging/setLevel';
export const SUBSCRIBE = 'resources/subscribe';
export const UNSUBSCRIBE = 'resources/unsubscribe';
export const TOOLS_CALL = 'tools/call';
export const COMPLETE = 'completion/complete';
export const TOOLS_LIST = 'tools/list';
export const PROMPTS_GET = 'prompts/get';
export const PROMPTS_LIST = 'prompts/list';
export const RESOURCES_READ = 'resources/read';
export const RESOURCES_LIST = 'resources/list';
export const TEMPLATES_LIST = 'resources/templates/list';

export const TASKS_GET = 'tasks/get';
export const TASKS_RESULT = 'tasks/result';
export const TASKS_CANCEL = 'tasks/cancel';
export const TASKS_LIST = 'tasks/list';
export const TASKS_UPDATE = 'tasks/update';
/** A legacy server sends this when the state of a task changes. */
export const TASK_STATUS = 'notifications/tasks/status';

/** Whether a method is about tasks, in any revision. */
export function isTaskMethod(method: string): boolean {
  return method.startsWith('tasks/');
}

/** Whether messages with a method are never answered, so that it is no method of requests. */
export function isNotification(method: string): boolean {
  return method.startsWith('notifications/');
}

export const TOOLS_CHANGED = 'notifications/tools/list_changed';

/** Notifications that one of a server's lists has changed. */
export const LIST_CHANGED: ReadonlySet<string> = new Set([
  TOOLS_CHANGED,
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
]);

/** Calls during which a server may send requests to its client (docs/protocol.md#attribution). */
const MAY_ASK: ReadonlySet<string> = new Set([TOOLS_CALL, PROMPTS_GET, RESOURCES_READ]);

/** Whether a server may send requests to its client while it works on `method`. */
export function mayAsk(method: string): boolean {
  return MAY_ASK.has(method);
}

// The request methods of all revisions. Only these may be metric labels, because clients choose methods
// freely.
const KNOWN_REQUESTS: ReadonlySet<string> = new Set([
  INITIALIZE,
  PING,
  SET_LEVEL,
  SUBSCRIBE,
  UNSUBSCRIBE,
  TOOLS_CALL,
  TOOLS_LIST,
  PROMPTS_GET,
  PROMPTS_LIST,
  RESOURCES_READ,
  RESOURCES_LIST,
  TEMPLATES_LIST,
  COMPLETE,
  TASKS_GET,
  TASKS_RESULT,
  TASKS_CANCEL,
  TASKS_LIST,
  TASKS_UPDATE,
  'server/discover',
  'subscriptions/listen',
  ROOTS_LIST,
  SAMPLING,
  ELICITATION,
]);

/** A label for metrics, from a fixed list. */
export function methodLabel(method: string): string {
  return KNOWN_REQUESTS.has(method) ? method : 'other';
}
