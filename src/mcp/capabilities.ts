// Capability objects of clients and servers: reads them, and makes those of the gateway, which is a client
// for servers and a server for clients.
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { TASKS_EXTENSION } from './meta.ts';
import { ELICITATION, isTaskMethod, ROOTS_LIST, SAMPLING } from './methods.ts';

/** The capabilities in `initialize`. */
export type ClientCapabilities = JsonObject;

/**
 * The client capabilities for a shared instance: sampling and elicitation, and roots only if they are
 * configured.
 */
export function sharedClientCapabilities(hasStaticRoots: boolean): ClientCapabilities {
  return {
    ...(hasStaticRoots ? { roots: {} } : {}),
    sampling: {},
    elicitation: { form: {}, url: {} },
  };
}

/** A modern client's capabilities, for a legacy server. */
export function legacyCapabilities(capabilities: ClientCapabilities): ClientCapabilities {
  // A modern client can't announce changed roots, and has another kind of tasks.
  const { roots, ...rest } = withoutClientTasks(capabilities);
  return roots === undefined ? rest : { ...rest, roots: {} };
}

/** A legacy client's capabilities, for a modern server. */
export function modernCapabilities(capabilities: ClientCapabilities): ClientCapabilities {
  const { extensions, ...rest } = withoutClientTasks(capabilities);
  return {
    ...rest,
    ...(isObject(rest['roots']) ? { roots: {} } : {}),
    // A legacy client could not use modern tasks (docs/protocol.md#requests-across-eras).
    ...(extensions === undefined ? {} : { extensions: withoutTasksExtension(extensions) }),
  };
}

/** Extensions without the tasks extension. */
export function withoutTasksExtension(extensions: unknown): JsonObject {
  const { [TASKS_EXTENSION]: _, ...rest } = isObject(extensions) ? extensions : {};
  return rest;
}

// If several sessions share a server, none of them could tell whose task an id is.
function withoutClientTasks(capabilities: ClientCapabilities): ClientCapabilities {
  const { tasks: _, ...rest } = capabilities;
  return rest;
}

/**
 * The client capabilities for an instance that all clients of one principal share: everything that any of
 * them may support. The first client must not decide what later ones can be asked. A client that does not
 * support something is not asked for it.
 * @param first capabilities of the first client
 */
export function principalClientCapabilities(first: ClientCapabilities): ClientCapabilities {
  const { sampling } = first;
  return {
    ...withoutClientTasks(first),
    roots: { listChanged: true },
    sampling: isObject(sampling) ? sampling : {},
    elicitation: { form: {}, url: {} },
  };
}

/** What a client does not support: the method, or only this mode of it. */
export type UnsupportedPart = 'method' | 'mode';

/**
 * Whether a client with these capabilities may be sent a server request.
 * @param mode of an elicitation, as in the server request
 * @returns undefined if it may
 */
export function refusalFor(
  capabilities: ClientCapabilities,
  method: string,
  mode: string | undefined,
): UnsupportedPart | undefined {
  switch (method) {
    case ROOTS_LIST:
      return isObject(capabilities['roots']) ? undefined : 'method';
    case SAMPLING:
      return isObject(capabilities['sampling']) ? undefined : 'method';
    case ELICITATION:
      return elicitationRefusal(capabilities['elicitation'], mode);
    default:
      return isTaskMethod(method) && !isObject(capabilities['tasks']) ? 'method' : undefined;
  }
}

// 2025-11-25 client/elicitation: an empty object means only `form`.
function elicitationRefusal(elicitation: unknown, mode: unknown): UnsupportedPart | undefined {
  if (!isObject(elicitation)) return 'method';
  if (mode === 'url') return isObject(elicitation['url']) ? undefined : 'mode';
  const isForm = isObject(elicitation['form']) || !isObject(elicitation['url']);
  return isForm ? undefined : 'mode';
}

/** Whether a server with this capability announces changes of its list. */
export function tellsChanges(capability: unknown): boolean {
  return isObject(capability) && capability['listChanged'] === true;
}
