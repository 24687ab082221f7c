// Capability objects of clients and servers: read, and made for the gateway's own two faces.
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { TASKS_EXTENSION } from './meta.ts';
import { ELICITATION, isTaskMethod, ROOTS_LIST, SAMPLING } from './methods.ts';

/** What a client said in `initialize`. */
export type ClientCapabilities = JsonObject;

/** What a shared instance is told: sampling and elicitation; roots only when they are static. */
export function sharedClientCapabilities(hasStaticRoots: boolean): ClientCapabilities {
  return {
    ...(hasStaticRoots ? { roots: {} } : {}),
    sampling: {},
    elicitation: { form: {}, url: {} },
  };
}

/** What a modern client declares, as a server of the session era reads it. */
export function legacyCapabilities(capabilities: ClientCapabilities): ClientCapabilities {
  // Such a client can't say that its roots changed, and tasks are another extension there.
  const { roots, ...rest } = withoutClientTasks(capabilities);
  return roots === undefined ? rest : { ...rest, roots: {} };
}

/** What a client of the session era declares, as a modern server reads it. */
export function modernCapabilities(capabilities: ClientCapabilities): ClientCapabilities {
  const { extensions, ...rest } = withoutClientTasks(capabilities);
  return {
    ...rest,
    ...(isObject(rest['roots']) ? { roots: {} } : {}),
    // It could not use a task of that kind (docs/protocol.md#requests-across-eras).
    ...(extensions === undefined ? {} : { extensions: withoutTasksExtension(extensions) }),
  };
}

/** Extensions without that of tasks. */
export function withoutTasksExtension(extensions: unknown): JsonObject {
  const { [TASKS_EXTENSION]: _, ...rest } = isObject(extensions) ? extensions : {};
  return rest;
}

// Of a server that several sessions share none could tell whose task an id is.
function withoutClientTasks(capabilities: ClientCapabilities): ClientCapabilities {
  const { tasks: _, ...rest } = capabilities;
  return rest;
}

/**
 * What an instance of all clients of one principal is told: everything that any of them may offer.
 * Whoever comes first must not decide what the next ones are asked; who lacks something is not asked.
 * @param first capabilities of the client that comes first
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

/** Why a client can't be asked something. */
export type UnsupportedPart = 'method' | 'mode';

/**
 * Whether a client that declared `capabilities` may be asked `method`.
 * @param mode of an elicitation, as the server request has it
 * @returns undefined when it may, else whether the whole method or only this mode is missing
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

// 2025-11-25 client/elicitation: an empty object means form only.
function elicitationRefusal(elicitation: unknown, mode: unknown): UnsupportedPart | undefined {
  if (!isObject(elicitation)) return 'method';
  if (mode === 'url') return isObject(elicitation['url']) ? undefined : 'mode';
  const isForm = isObject(elicitation['form']) || !isObject(elicitation['url']);
  return isForm ? undefined : 'mode';
}

/** Whether a server that declares `capability` says when its list changes. */
export function tellsChanges(capability: unknown): boolean {
  return isObject(capability) && capability['listChanged'] === true;
}
