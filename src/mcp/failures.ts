// The failures of the gateway: why Sluice, not the server, fails a request. Each has a reason, an outcome and
// a sentence for the client (docs/errors.md). What happened at a remote server is described by its transport,
// with the same reasons.
import { type FailureOutcome, type FailureReason, GatewayError } from '../base/errors.ts';

const HELD_FOR_YOU = 'Too many bytes are held for you, or for all (limits.heldBytes)';

function notSent(reason: FailureReason, message: string): GatewayError {
  return new GatewayError(reason, message, { outcome: 'not_sent' });
}

function overloaded(message: string): GatewayError {
  return notSent('overloaded', message);
}

function rateLimited(message: string): GatewayError {
  return notSent('rate_limited', message);
}

/** @param what it follows the server's name */
function ofServer(
  reason: FailureReason,
  server: string,
  what: string,
  details: { readonly outcome?: FailureOutcome; readonly retryAfterMs?: number | undefined } = {},
): GatewayError {
  const message = `Server "${server}" ${what}`;
  return new GatewayError(reason, message, { outcome: 'not_sent', server, ...details });
}

/** The server may have run the request. */
function unknown(reason: FailureReason, server: string, message: string): GatewayError {
  return new GatewayError(reason, message, { outcome: 'unknown', server });
}

function wrongAnswer(server: string, what: string): GatewayError {
  return ofServer('server_protocol_error', server, what, { outcome: 'unknown' });
}

/** What a transport says about a request. */
interface Said {
  readonly reason: FailureReason;
  readonly outcome: FailureOutcome;
  readonly what: string;
  readonly retryAfterMs?: number;
}

/** Each function makes a new failure. */
export const FAILURES = {
  // The gateway.
  stopping: () => notSent('draining', 'The gateway is stopping. Connect again.'),
  endpointGone: () => notSent('draining', 'This endpoint is not served any more.'),
  lowOnMemory: () => overloaded('The gateway is low on memory; try again later.'),
  noAuditLog: () =>
    overloaded(
      "Calls are refused while the gateway can't write its audit log (audit.required); see the gateway's log.",
    ),
  cancelled: () =>
    new GatewayError('internal', 'The request was cancelled.', { outcome: 'unknown' }),

  // Limits of a client.
  tooMuchHeld: (outcome: FailureOutcome = 'not_sent') =>
    new GatewayError(
      'overloaded',
      'Too many bytes are held for this client, or for all (limits.heldBytes); read pending responses, or try again later.',
      { outcome },
    ),
  tooManySessions: () =>
    overloaded('Too many sessions, all with a stream or a call (sessions.max); try again later.'),
  tooManyOwnSessions: () =>
    rateLimited(
      'This client has too many sessions, all with a stream or a call (sessions.maxPerPrincipal); end some of them.',
    ),
  tooManyStreams: () => overloaded('Too many streams are open; try again later.'),
  tooManyOwnStreams: () =>
    rateLimited('This client has too many streams open; close some of them.'),
  tooFast: () => rateLimited('Too many requests; try again later.'),
  tooManyInSession: (max: number) =>
    overloaded(
      `This session has ${max} requests in flight already (sessions.maxInFlight); wait for answers.`,
    ),
  tooManyOnChannel: () => overloaded('Too many requests are in flight.'),
  tooManyOfPrincipal: () =>
    rateLimited('This client has too many requests in flight; wait for answers.'),

  // What a client watches.
  watchesTooMany: (max: number) => unsubscribe(`You watch ${max} resources already`),
  watchesTooManyAtServer: (max: number) =>
    unsubscribe(`All your clients watch ${max} resources of one server already`),
  watchesTooLong: (whose: string, maxKib: number) =>
    unsubscribe(`The URIs that ${whose} at one server may have ${maxKib} KiB in all`),
  watchesTooMuchHeld: () => unsubscribe(HELD_FOR_YOU),
  listensToTooMany: (count: number, max: number) =>
    listenToLess(`Your streams watch ${count} resources and tasks already and may watch ${max}`),
  listensToTooMuchHeld: () => listenToLess(HELD_FOR_YOU),

  // Tools.
  toolQueueFull: (max: number) => toolBusy('overloaded', `already has ${max} calls that wait`),
  toolBusy: (limitMs: number) => toolBusy('queue_timeout', `was busy for ${limitMs} ms`),
  notChecked: () =>
    overloaded(
      'The arguments can not be checked now, because too many checks are waiting; try again later.',
    ),

  // Before the server has the request.
  unavailable: (server: string, what: string) => ofServer('server_unavailable', server, what),
  beingStopped: (server: string, reason: 'server_unavailable' | 'draining') =>
    ofServer(reason, server, 'is being stopped.'),
  starting: (server: string) => ofServer('server_starting', server, 'is still starting.'),
  queueFull: (server: string, max: number) =>
    ofServer(
      'overloaded',
      server,
      `already has ${max} calls in its queue (limits.queue). Retry later.`,
    ),
  waitedTooLong: (server: string, what: string) => ofServer('queue_timeout', server, what),
  noProcess: (server: string, limit: string) => {
    const what = `needs a separate process for this client, but there are ${limit} already.`;
    return ofServer('overloaded', server, what);
  },
  unlisted: (server: string) =>
    ofServer('server_timeout', server, 'did not send its list in time; try again later.'),
  notTaken: (server: string, why: string) => {
    const what = `ended (${why}) and did not take the request; send it again.`;
    return ofServer('server_unavailable', server, what);
  },
  ofTransport: (server: string, { reason, what, outcome, retryAfterMs }: Said) =>
    ofServer(reason, server, what, { outcome, retryAfterMs }),

  // No response, or a wrong one.
  stoppedBeforeAnswer: (server: string) =>
    unknown(
      'draining',
      server,
      `The gateway stopped before server "${server}" answered; it may have run the request.`,
    ),
  restartedBeforeAnswer: () =>
    new GatewayError(
      'draining',
      'The gateway was restarted before the server answered; the server may have run the request.',
      { outcome: 'unknown' },
    ),
  endedBeforeAnswer: (server: string, why: string) => {
    const what = `ended (${why}) before it answered; it may have run the request.`;
    return ofServer('server_exited', server, what, { outcome: 'unknown' });
  },
  noAnswerInTime: (server: string, limitMs: number) => {
    const what = `did not answer within ${limitMs} ms; the call was cancelled.`;
    return ofServer('server_timeout', server, what, { outcome: 'unknown' });
  },
  answerTooLarge: (server: string, bytes: number) =>
    unknown(
      'response_too_large',
      server,
      `The answer of server "${server}" has ${bytes} bytes, over its limit; raise limits.message.`,
    ),
  noRoomForAnswer: (server: string, bytes: number) =>
    unknown(
      'overloaded',
      server,
      `The answer of server "${server}" has ${bytes} bytes, for which there was no room (limits.heldBytes); request less, or try again later.`,
    ),
  answerNotJsonRpc: (server: string) =>
    wrongAnswer(server, 'sent an answer that is not valid JSON-RPC.'),
  answerIdIsText: (server: string, id: number) =>
    wrongAnswer(
      server,
      `answered with the id "${id}", a string, instead of the number ${id}: JSON-RPC requires the id that was sent.`,
    ),
  resultNoObject: (server: string) =>
    wrongAnswer(server, 'answered with a result that is not an object, as MCP requires.'),
  tooManyServerRequests: (server: string, count: number, max: number) =>
    wrongAnswer(server, `sent ${count} server requests in one result; at most ${max} are allowed.`),
} as const;

function unsubscribe(why: string): GatewayError {
  return overloaded(`${why}; unsubscribe from some first.`);
}

function listenToLess(why: string): GatewayError {
  return overloaded(`${why}; close a stream, or ask for less.`);
}

function toolBusy(reason: FailureReason, what: string): GatewayError {
  return notSent(reason, `The tool ${what}; call it again later, or raise its concurrency.`);
}
