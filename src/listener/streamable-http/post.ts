// POST of Streamable HTTP: one message, or a batch if the session's version has batches. The first check that
// fails answers (docs/protocol.md#order-of-checks, #legacy-http).
import { asGatewayError, type GatewayError } from '../../base/errors.ts';
import type { HeldOwner } from '../../base/held-bytes.ts';
import { faultError } from '../../jsonrpc/faults.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { errorMessage, resultMessage } from '../../jsonrpc/serialize.ts';
import { continuesWork } from '../../mcp/continuation.ts';
import { wireErrorOf } from '../../mcp/errors.ts';
import { INITIALIZE } from '../../mcp/methods.ts';
import { allowsBatches, isModernVersion } from '../../mcp/versions.ts';
import { BatchAnswers, invalidElement, splitBatch, workOff } from '../../session/batch.ts';
import { openSession, profileFault, profileOf } from '../../session/handshake.ts';
import type { ServedEndpoint } from '../../session/served-endpoint.ts';
import type { Session } from '../../session/session.ts';
import { SessionStreams } from '../../session/session-streams.ts';
import type { ListenerContext } from '../context.ts';
import {
  drainRefusal,
  REFUSALS,
  refuse,
  sendEmpty,
  sendJson,
  sessionRefusal,
} from '../error-response.ts';
import { type AcceptHeader, acceptedBy } from '../request-headers.ts';
import { HttpResponseWriter } from './http-response-writer.ts';
import { serveModern } from './modern-post.ts';
import { findSession, type HttpCall, headerOf, type OpenSession } from './routes.ts';

const MCP_RULES = { anyParams: false };
const NULL_ID = Buffer.from('null');

/** Serves one POST whose body is complete. */
export function servePost(
  context: ListenerContext,
  served: ServedEndpoint,
  call: HttpCall,
  body: Buffer,
): void {
  const accepted = acceptedBy(headerOf(call.request, 'accept'));
  if (!accepted.json && !accepted.events) {
    refuse(call.response, REFUSALS.accept);
    return;
  }
  const frame = scan(body);
  if (frame.fault === 'array') {
    serveBatch(context, served, { ...call, accepted }, frame);
  } else if (frame.fault !== undefined) {
    context.metrics.rejected.inc({ reason: frame.fault });
    refuse(call.response, { status: 400, ...faultError(frame) }, frame.idBytes);
  } else {
    serveMessage(context, served, { ...call, accepted }, frame);
  }
}

interface PostCall extends HttpCall {
  readonly accepted: AcceptHeader;
}

function serveMessage(
  context: ListenerContext,
  served: ServedEndpoint,
  call: PostCall,
  frame: Frame,
): void {
  if (frame.claimStart >= 0) {
    serveModern(context, served, call, frame);
    return;
  }
  const fault = modernHeaderFault(call, frame);
  if (fault !== undefined) {
    refuse(call.response, fault, frame.idBytes);
    return;
  }
  if (frame.kind === 'request' && frame.method === INITIALIZE) {
    void serveInitialize(context, served, call, frame);
    return;
  }
  const found = findSession(context, served, call, frame.idBytes);
  if (found === undefined) return;
  if (served.drain.isOn && isNewWork(frame)) {
    refuse(call.response, drainRefusal(served, REFUSALS.sessionNotFound), frame.idBytes);
  } else if (frame.kind === 'request') {
    found.session.request(frame, new HttpResponseWriter(context, call, found, frame.idBytes));
  } else {
    if (frame.kind === 'notification') found.session.notification(frame);
    else found.session.response(frame);
    sendEmpty(call.response, 202);
  }
}

/** A modern version header, but a message without an envelope (docs/protocol.md#era-of-a-message). */
function modernHeaderFault(
  call: PostCall,
  frame: Frame,
): (typeof REFUSALS)[keyof typeof REFUSALS] | undefined {
  const version = headerOf(call.request, 'mcp-protocol-version');
  if (version === undefined || !isModernVersion(version) || frame.kind !== 'request') {
    return undefined;
  }
  return frame.method === INITIALIZE ? REFUSALS.headerMismatch : REFUSALS.envelopeMissing;
}

async function serveInitialize(
  context: ListenerContext,
  served: ServedEndpoint,
  call: PostCall,
  frame: Frame,
): Promise<void> {
  const { response } = call;
  const id = frame.idBytes;
  if (isLive(context, served, call)) {
    refuse(response, REFUSALS.initialized, id);
    return;
  }
  if (served.isGone) {
    refuse(response, drainRefusal(served), id);
    return;
  }
  const fault = profileFault(frame);
  if (fault !== undefined) {
    refuse(response, { status: 400, ...fault }, id);
    return;
  }
  const profile = profileOf(frame);
  try {
    const opened = await openSession(
      profile,
      {
        transport: 'streamable-http',
        served,
        principal: call.principal,
        notificationWriter: new SessionStreams(profile.version, () =>
          context.held.client(call.principal),
        ),
        hasStreamPerRequest: true,
        hasId: true,
      },
      context.sessions,
    );
    if ('refusal' in opened) refuse(response, sessionRefusal(opened.refusal), id);
    else {
      answerInitialize(context, call, opened.session, resultMessage(id ?? NULL_ID, opened.result));
    }
  } catch (error) {
    const failure = asGatewayError(error);
    served.meter.failed(failure);
    if (!response.destroyed) sendJson(response, 200, errorMessage(id, wireErrorOf(failure)));
  }
}

/** A client that disconnected while the server started gets no session. */
function answerInitialize(
  context: ListenerContext,
  call: PostCall,
  session: Session,
  message: Buffer,
): void {
  if (call.response.destroyed) {
    context.sessions.end(session);
    return;
  }
  const headers = { 'mcp-session-id': session.id };
  if (call.accepted.json) {
    sendJson(call.response, 200, message, headers);
    return;
  }
  const found: OpenSession = { session, streams: session.notificationWriter as SessionStreams };
  new HttpResponseWriter(context, call, found).end(message);
}

function isLive(context: ListenerContext, served: ServedEndpoint, call: HttpCall): boolean {
  const sessionId = headerOf(call.request, 'mcp-session-id');
  if (sessionId === undefined) return false;
  return context.sessions.find(sessionId, served.endpoint.name, call.principal) !== undefined;
}

function serveBatch(
  context: ListenerContext,
  served: ServedEndpoint,
  call: PostCall,
  batch: Frame,
): void {
  if (headerOf(call.request, 'mcp-session-id') === undefined) {
    refuse(call.response, { status: 400, ...faultError(batch) });
    return;
  }
  const found = findSession(context, served, call);
  if (found === undefined) return;
  if (!allowsBatches(found.session.version)) {
    refuse(call.response, { status: 400, ...faultError(batch) });
    return;
  }
  const messages = splitBatch(batch, MCP_RULES);
  if (messages === undefined) refuse(call.response, REFUSALS.batchTooLong);
  else if (messages.length === 0) refuse(call.response, REFUSALS.emptyBatch);
  else if (served.drain.isOn && messages.every(isNewWork))
    refuse(call.response, drainRefusal(served, REFUSALS.sessionNotFound));
  else {
    context.gatekeeper.takeBatch(call.principal, messages.length);
    takeBatch(context, call, found, messages);
  }
}

function takeBatch(
  context: ListenerContext,
  call: PostCall,
  found: OpenSession,
  messages: readonly Frame[],
): void {
  const { session } = found;
  const { quota } = call;
  const owner = (): HeldOwner => context.held.client(call.principal);
  const failed = (error: GatewayError): void => call.route.served.meter.failed(error);
  const answered = messages.filter(({ kind }) => kind === 'request' || kind === 'invalid').length;
  if (answered === 0) {
    // Only now: the client's next message must not be processed before the rest of the batch.
    const late = (): void => sendEmpty(call.response, 202);
    const take = (frame: Frame): void => takeUnanswered(session, frame);
    if (workOff(messages, { quota, owner, failed, take, late })) late();
    return;
  }
  const answers = new BatchAnswers(
    new HttpResponseWriter(context, call, found),
    answered + 1,
    owner,
  );
  // The answer waits for the last message, for the same reason.
  const all = answers.writer();
  const take = (frame: Frame): void => {
    if (frame.kind === 'invalid') answers.writer().end(invalidElement());
    else if (frame.kind !== 'request') takeUnanswered(session, frame);
    // `initialize` in a batch opens no session; the session refuses it (2025-03-26 basic/lifecycle).
    else session.request(frame, answers.writer(frame.idBytes));
  };
  const late = (): void => all.abandon();
  if (workOff(messages, { quota, owner, failed, take, late })) late();
}

/** Whether a message begins new work. */
function isNewWork(frame: Frame): boolean {
  return frame.kind === 'request' && !continuesWork(frame);
}

function takeUnanswered(session: Session, frame: Frame): void {
  if (frame.kind === 'notification') session.notification(frame);
  else session.response(frame);
}
