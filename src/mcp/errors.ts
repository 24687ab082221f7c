// The errors that Sluice sends to clients and servers: each code and each sentence is here once. Failures of
// the gateway are in `failures`. listener/error-response adds what HTTP needs. JSON-RPC errors that name what
// is wrong are made in jsonrpc/error, errors about invalid messages in jsonrpc/faults.
import type { GatewayError } from '../base/errors.ts';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  invalidParams,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  type WireError,
} from '../jsonrpc/error.ts';

/** The generic code of a refusal over HTTP, as in the official SDKs. */
export const REFUSED = -32000;
/** Not in a specification, but used by the SDKs for an unknown session. */
export const SESSION_NOT_FOUND = -32001;
/** The error code of legacy revisions for an unknown resource. The modern one uses -32602. */
export const RESOURCE_NOT_FOUND = -32002;
export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_VERSION = -32022;
export const URL_ELICITATION_REQUIRED = -32042;

/** Codes that a revision of MCP defines, or reserves. */
export function isSpecCode(code: number): boolean {
  return code <= -32020 && code >= -32099;
}

/** Codes that mean something else, or nothing, in the modern revision. */
export function isReserved(code: number): boolean {
  return code <= -32000 && code >= -32099;
}

function internal(message: string): WireError {
  return { code: INTERNAL_ERROR, message };
}

function invalidRequest(message: string): WireError {
  return { code: INVALID_REQUEST, message };
}

export const ERRORS = {
  // Messages that can't be accepted now, or in this form.
  initializeFirst: invalidRequest('Send initialize first.'),
  initializedAlready: invalidRequest('The session is initialized already.'),
  tooManyEarly: invalidRequest('Too many messages before the response to initialize.'),
  idInFlight: invalidRequest('A request with this id is in flight.'),
  idInFlightOnChannel: invalidRequest('Invalid request: this id is in flight.'),
  batch: invalidRequest('Invalid request: batch.'),
  batchElement: invalidRequest('Invalid request.'),
  notification: { code: METHOD_NOT_FOUND, message: 'Method not found: a notification.' },
  tooLarge: { code: PARSE_ERROR, message: 'Parse error: the message is too large.' },

  // Parameters.
  badArguments: invalidParams('arguments must be an object.'),
  badCursor: invalidParams(
    'unknown cursor, or the list has changed. Request the first page again.',
  ),
  badInputResponses: invalidParams('inputResponses.'),
  badLogLevel: invalidParams('unknown log level.'),
  badName: invalidParams('name must be a string.'),
  badState: invalidParams('requestState is expired, or does not belong to this request.'),
  usedState: invalidParams('requestState was used.'),
  badUri: invalidParams('uri must be a string.'),
  noSuchResource: { code: INVALID_PARAMS, message: 'No server has this resource.' },
  /** The same error for unknown, foreign and changed ids, so that nobody learns which one it is. */
  unknownTask: invalidParams('there is no such task.'),

  // What a server sent, or did not send.
  serverErrorInvalid: internal('The server answered with an invalid error.'),
  serverErrorNoObject: internal('The server sent an invalid error object.'),
  serverErrorMissing: internal('The server sent no error object.'),
  serverSilent: internal('The server did not answer.'),
  taskNotAskedFor: internal(
    'The server returned a task, but the client did not declare the tasks extension.',
  ),

  // Subscriptions.
  clientLeft: internal('The client has disconnected.'),
  noTaskStream: internal('The server has no stream for notifications about tasks.'),
  notWatched: internal('The server does not watch this resource.'),
  watchedByNobody: internal('The resource is no longer watched.'),

  // To servers: why their request is not answered.
  askedTooMuch: internal('Too many server requests are open.'),
  askedWithUsedId: invalidRequest('This id is in use.'),
  callOver: internal('The call is over.'),
  clientEnding: internal('The session of the client is ending.'),
  clientGone: internal('The client of this request has disconnected.'),
  clientLate: internal('The client did not answer in time, and others wait.'),
  clientNotBack: internal('The client did not reconnect.'),
  clientSilent: internal('The client did not answer.'),
  clientHasNoStream: internal('The client has no open stream for server requests.'),
  modeNotOffered: {
    code: INVALID_PARAMS,
    message: 'The client does not offer this elicitation mode.',
  },
  responseNotRead: internal(
    'The response of the client was dropped: this server does not read its input.',
  ),
  unattributable: {
    ...internal(
      'Several clients have calls at this server, and it is not clear which one to ask. With ' +
        '`sharing: session` each client has its own process, and this does not happen.',
    ),
    data: { reason: 'unattributable' },
  },
} as const satisfies Record<string, WireError>;

/** The errors for server requests to such clients. */
export const UNASKABLE = {
  modern: internal('This client accepts requests only in results (input_required).'),
  modernServer: {
    code: INVALID_PARAMS,
    message: 'A modern server must ask in its results (input_required).',
  },
  gateway: internal('No client can be asked: the gateway sent this request itself.'),
  nobody: { code: METHOD_NOT_FOUND, message: 'There is no client to ask.' },
} as const satisfies Record<string, WireError>;

/** The error for a server request that its client does not support. */
export function notOfferedByClient(method: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `The client does not offer ${method}.` };
}

/** The error for a request that needs a capability which its client did not declare. */
export function missingCapability(requiredCapabilities: Record<string, unknown>): WireError {
  return {
    code: MISSING_CAPABILITY,
    message: 'The request needs a capability that the client did not declare.',
    data: { requiredCapabilities },
  };
}

/** @param uri the client's */
export function resourceNotFound(uri: string): WireError {
  return { code: RESOURCE_NOT_FOUND, message: 'Resource not found.', data: { uri } };
}

/** The error for a request of an unsupported revision. */
export function unsupportedVersion(supported: readonly string[], requested: unknown): WireError {
  return {
    code: UNSUPPORTED_VERSION,
    message: 'Unsupported protocol version.',
    data: { supported, requested },
  };
}

/** The error object for a failure of the gateway. */
export function wireErrorOf(failure: GatewayError): WireError {
  const { retryAfterMs } = failure;
  return {
    code: INTERNAL_ERROR,
    message: failure.message,
    data: {
      reason: failure.reason,
      outcome: failure.outcome,
      ...(failure.server === undefined ? {} : { server: failure.server }),
      // In seconds, like the header `Retry-After`.
      ...(retryAfterMs === undefined ? {} : { retryAfter: Math.ceil(retryAfterMs / 1_000) }),
    },
  };
}
