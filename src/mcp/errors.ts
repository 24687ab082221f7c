// The errors that Sluice sends itself, to clients and to servers: each code and each sentence, once. Why a
// request fails in the gateway is in `failures`; what HTTP adds to both, in listener/error-response. Errors
// of JSON-RPC that name what is wrong are made in jsonrpc/error, what is wrong with a message in
// jsonrpc/faults.
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

/** A refusal over HTTP, as the official SDKs use it. */
export const REFUSED = -32000;
/** Not in any specification, but what the SDKs say of a session that they do not know. */
export const SESSION_NOT_FOUND = -32001;
/** No resource of a URI, for clients of the session era; modern ones read it as a wrong parameter. */
export const RESOURCE_NOT_FOUND = -32002;
export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_VERSION = -32022;
export const URL_ELICITATION_REQUIRED = -32042;

/** Codes to which a revision of MCP gives a meaning, or may give one. */
export function isSpecCode(code: number): boolean {
  return code <= -32020 && code >= -32099;
}

/** Codes that mean something else, or nothing, to a modern client. */
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
  // A message that can't be taken now, or not like this.
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
  /** The same for ids that are unknown, foreign or changed: nobody learns which. */
  unknownTask: invalidParams('there is no such task.'),

  // What a server says, or does not say.
  serverErrorInvalid: internal('The server answered with an invalid error.'),
  serverErrorNoObject: internal('The server sent an invalid error object.'),
  serverErrorMissing: internal('The server sent no error object.'),
  serverSilent: internal('The server did not answer.'),
  taskNotAskedFor: internal(
    'The server returned a task, but the client did not declare the tasks extension.',
  ),

  // Subscriptions.
  clientLeft: internal('The client has left.'),
  noTaskStream: internal('The server has no stream that tells of tasks.'),
  notWatched: internal('The server does not watch this resource.'),
  watchedByNobody: internal('Nobody watches the resource any more.'),

  // To servers: why nobody answers their request.
  askedTooMuch: internal('Too many questions are open.'),
  askedWithUsedId: invalidRequest('This id is in use.'),
  callOver: internal('The call is over.'),
  clientEnding: internal('The session of the client is ending.'),
  clientGone: internal('The client that was asked is gone.'),
  clientLate: internal('The client did not answer in time, and others wait.'),
  clientNotBack: internal('The client did not come back.'),
  clientSilent: internal('The client did not answer.'),
  clientHasNoStream: internal('The client has no stream on which it can be asked.'),
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
        '`sharing: session` each client has a process of its own, and this does not happen.',
    ),
    data: { reason: 'unattributable' },
  },
} as const satisfies Record<string, WireError>;

/** Why a client can't be asked. */
export const UNASKABLE = {
  modern: internal('This client accepts requests only in results (input_required).'),
  modernServer: {
    code: INVALID_PARAMS,
    message: 'A modern server must ask in its results (input_required).',
  },
  gateway: internal('No client can be asked: the gateway sent this request itself.'),
  nobody: { code: METHOD_NOT_FOUND, message: 'Nobody is here to ask.' },
} as const satisfies Record<string, WireError>;

/** The error of a server's request for something that its client does not offer. */
export function notOfferedByClient(method: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `The client does not offer ${method}.` };
}

/** The error of a request that needs a capability which its client does not declare. */
export function missingCapability(requiredCapabilities: Record<string, unknown>): WireError {
  return {
    code: MISSING_CAPABILITY,
    message: 'The request needs a capability that the client did not declare.',
    data: { requiredCapabilities },
  };
}

/** @param uri as the client knows it */
export function resourceNotFound(uri: string): WireError {
  return { code: RESOURCE_NOT_FOUND, message: 'Resource not found.', data: { uri } };
}

/** The error of a request of a revision that is not spoken here. */
export function unsupportedVersion(supported: readonly string[], requested: unknown): WireError {
  return {
    code: UNSUPPORTED_VERSION,
    message: 'Unsupported protocol version.',
    data: { supported, requested },
  };
}

/** The error object of a failure that Sluice made itself. */
export function wireErrorOf(failure: GatewayError): WireError {
  const { retryAfterMs } = failure;
  return {
    code: INTERNAL_ERROR,
    message: failure.message,
    data: {
      reason: failure.reason,
      outcome: failure.outcome,
      ...(failure.server === undefined ? {} : { server: failure.server }),
      // In seconds, as the header has it.
      ...(retryAfterMs === undefined ? {} : { retryAfter: Math.ceil(retryAfterMs / 1_000) }),
    },
  };
}
