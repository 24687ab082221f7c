// Streamable HTTP of legacy clients: POST, GET and DELETE of one endpoint (docs/protocol.md#legacy-http).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { wallClockMs } from '../../base/clock.ts';
import type { TurnQuota } from '../../base/turns.ts';
import { isKnownVersion, isModernVersion } from '../../mcp/versions.ts';
import type { Principal } from '../../ports/principal.ts';
import type { ServedEndpoint } from '../../session/served-endpoint.ts';
import type { Session } from '../../session/session.ts';
import type { NoRoom } from '../../session/session-store.ts';
import { SessionStreams } from '../../session/session-streams.ts';
import { claimsFor, takeUp } from '../../session/take-up.ts';
import type { ListenerContext } from '../context.ts';
import { REFUSALS, refuse, sendEmpty, sessionRefusal, streamRefusal } from '../error-response.ts';
import type { Route } from '../paths.ts';
import { acceptedBy } from '../request-headers.ts';
import { SseWriter } from '../sse-writer.ts';

/** No session opens so many streams before it is taken up again. */
const STREAMS_PER_MS = 100;

/** One HTTP request to the endpoint. */
export interface HttpCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  /** The route of its path. */
  readonly route: Route;
  /** What the client may cost in a turn. */
  readonly quota: TurnQuota | undefined;
}

/** A session together with its streams. */
export interface OpenSession {
  readonly session: Session;
  readonly streams: SessionStreams;
}

/** The value of a header that must not be duplicated. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * Finds the session that a request names. If there is none, answers the request.
 * @param id of the JSON-RPC request, for the error
 */
export function findSession(
  context: ListenerContext,
  served: ServedEndpoint,
  call: HttpCall,
  id?: Buffer,
): OpenSession | undefined {
  const sessionId = headerOf(call.request, 'mcp-session-id');
  if (sessionId === undefined) {
    refuse(call.response, REFUSALS.noSession, id);
    return undefined;
  }
  const session =
    context.sessions.find(sessionId, served.endpoint.name, call.principal) ??
    takenUp(context, served, call, sessionId);
  if (typeof session === 'string') {
    refuse(call.response, sessionRefusal(session), id);
    return undefined;
  }
  if (session === undefined || !(session.notificationWriter instanceof SessionStreams)) {
    refuseUnknown(context, call, id);
    return undefined;
  }
  const version = headerOf(call.request, 'mcp-protocol-version');
  if (version !== undefined && !isServedVersion(version)) {
    refuse(call.response, REFUSALS.protocolVersion, id);
    return undefined;
  }
  return { session, streams: session.notificationWriter };
}

function refuseUnknown({ metrics }: ListenerContext, { response }: HttpCall, id?: Buffer): void {
  metrics.rejected.inc({ reason: 'session_not_found' });
  refuse(response, REFUSALS.sessionNotFound, id);
}

/** Continues a session of an earlier process. */
function takenUp(
  { sessions, held }: ListenerContext,
  served: ServedEndpoint,
  { principal }: HttpCall,
  id: string,
): Session | NoRoom | undefined {
  return takeUp(id, { served, principal }, sessions, (version) => {
    // The client may resume streams of the earlier process. Their event ids must not be valid for streams of
    // this one.
    const lastNumber = wallClockMs() * STREAMS_PER_MS;
    return new SessionStreams(version, () => held.client(principal), lastNumber);
  });
}

// Any legacy revision is accepted; the session's own version is used (docs/protocol.md#legacy-http).
function isServedVersion(version: string): boolean {
  return isKnownVersion(version) && !isModernVersion(version);
}

/** GET: opens the stream for messages that belong to no call, or resumes a broken stream. */
export function serveGet(context: ListenerContext, served: ServedEndpoint, call: HttpCall): void {
  if (!acceptedBy(headerOf(call.request, 'accept')).events) {
    refuse(call.response, REFUSALS.acceptStream);
    return;
  }
  const found = findSession(context, served, call);
  if (found === undefined) return;
  const { session, streams } = found;
  const { streamTimers, metrics, openStreams } = context;
  const lastEventId = headerOf(call.request, 'last-event-id');
  if (lastEventId !== undefined && streams.isOver(lastEventId)) {
    // All clients take 405 to mean that there is no such stream, and don't try again.
    refuse(call.response, REFUSALS.method);
    return;
  }
  const reason = openStreams.refusal(call.principal);
  if (reason !== undefined) {
    refuse(call.response, streamRefusal(reason));
    return;
  }
  session.noteStream();
  const writer = new SseWriter(
    call.response,
    { 'mcp-session-id': session.id },
    {
      closed: (closed) => {
        streamTimers.closed(closed);
        streams.closed(closed);
        session.noteStream();
      },
      held: context.held,
      principal: call.principal,
      slow: () => metrics.slowConsumers.inc({ transport: 'streamable-http' }),
    },
  );
  streamTimers.opened(writer, 'streamable-http', call.principal);
  if (lastEventId === undefined) streams.openGeneral(writer);
  else streams.resume(lastEventId, writer);
}

/** DELETE: ends the session. */
export function serveDelete(
  context: ListenerContext,
  served: ServedEndpoint,
  call: HttpCall,
): void {
  const sessionId = headerOf(call.request, 'mcp-session-id');
  if (sessionId !== undefined && !context.sessions.has(sessionId)) {
    // A session of an earlier process need not be taken up just to be ended.
    const claims = claimsFor(sessionId, { served, principal: call.principal }, context.sessions);
    if (claims === undefined) {
      refuseUnknown(context, call);
      return;
    }
    context.sessions.endUnopened(sessionId, claims);
    sendEmpty(call.response, 200);
    return;
  }
  const found = findSession(context, served, call);
  if (found === undefined) return;
  context.sessions.end(found.session);
  sendEmpty(call.response, 200);
}
