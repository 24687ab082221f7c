// A POST with a modern message. All checks are here, in their order; the first one that fails answers
// (docs/protocol.md#order-of-checks). Sessions are not used.
import type { Frame } from '../../jsonrpc/frame.ts';
import { parseParams, parseString } from '../../jsonrpc/parse.ts';
import { continuesWork } from '../../mcp/continuation.ts';
import { checkEnvelope, claimedVersion, type Envelope } from '../../mcp/envelope.ts';
import { decodeHeaderValue } from '../../mcp/header-values.ts';
import { isNoModernRequest, namedBy } from '../../mcp/modern-methods.ts';
import type { ClientRequest } from '../../session/client-request.ts';
import { modernRequest, serveBy } from '../../session/modern-requests.ts';
import type { ServedEndpoint } from '../../session/served-endpoint.ts';
import type { ListenerContext } from '../context.ts';
import { drainRefusal, REFUSALS, type Refusal, refuse, sendEmpty } from '../error-response.ts';
import { ModernResponseWriter } from './modern-response-writer.ts';
import { type HttpCall, headerOf } from './routes.ts';

/** Serves a modern message. */
export function serveModern(
  context: ListenerContext,
  served: ServedEndpoint,
  call: HttpCall,
  frame: Frame,
): void {
  if (frame.kind !== 'request') {
    // A cancellation over HTTP has no effect, because ids of different clients may be equal
    // (docs/protocol.md#gw-035).
    if (frame.kind === 'notification') sendEmpty(call.response, 202);
    else refuse(call.response, REFUSALS.noSession);
    return;
  }
  const checked = checkRequest(call, frame);
  if ('refusal' in checked) {
    const { refusal } = checked;
    context.metrics.rejected.inc({ reason: `modern_${refusal.code}` });
    refuse(call.response, refusal, frame.idBytes);
    return;
  }
  if (served.drain.isOn && !continuesWork(frame)) {
    refuse(call.response, drainRefusal(served), frame.idBytes);
    return;
  }
  start(context, served, call, { frame, envelope: checked.envelope });
}

function start(
  context: ListenerContext,
  served: ServedEndpoint,
  call: HttpCall,
  { frame, envelope }: { readonly frame: Frame; readonly envelope: Envelope },
): void {
  const writer = new ModernResponseWriter(context, call, () => request.cancel(undefined));
  const request: ClientRequest = modernRequest(frame, envelope, {
    principal: call.principal,
    headers: call.request.headers,
    writer,
    owner: context.modern,
    meter: served.meter,
  });
  context.modern.add(request);
  serveBy(served, request);
}

/** The envelope, which is read only once, or why the request is refused. */
type EnvelopeCheck = { readonly envelope: Envelope } | { readonly refusal: Refusal };

function checkRequest(call: HttpCall, frame: Frame): EnvelopeCheck {
  const version = headerOf(call.request, 'mcp-protocol-version');
  const checked = checkEnvelope(frame);
  const claimed = 'envelope' in checked ? checked.envelope.version : claimedVersion(frame);
  if (version !== undefined && claimed !== undefined && version !== claimed) {
    return {
      refusal: mismatch('MCP-Protocol-Version differs from the version of the message.'),
    };
  }
  if ('error' in checked) return { refusal: { status: 400, ...checked.error } };
  if (version === undefined) return { refusal: mismatch('MCP-Protocol-Version is missing.') };
  const refusal = checkMirrored(call, frame);
  return refusal === undefined ? checked : { refusal };
}

/** Checks that `Mcp-Method` and `Mcp-Name` are equal to the message. */
function checkMirrored(call: HttpCall, frame: Frame): Refusal | undefined {
  const method = headerOf(call.request, 'mcp-method');
  if (method === undefined) return mismatch('Mcp-Method is missing.');
  if (method.trim() !== frame.method) return mismatch('Mcp-Method differs from the method.');
  if (isNoModernRequest(frame.method)) return undefined;
  const member = namedBy(frame.method);
  if (member === undefined) return undefined;
  const name = namedIn(frame, member);
  if (name === undefined) return undefined; // the code that serves the request answers -32602
  const header = headerOf(call.request, 'mcp-name');
  if (header === undefined) return mismatch('Mcp-Name is missing.');
  return decodeHeaderValue(header) === name
    ? undefined
    : mismatch(`Mcp-Name differs from params.${member}.`);
}

function namedIn(frame: Frame, member: 'name' | 'uri' | 'taskId'): string | undefined {
  const { bytes, nameStart, nameEnd, uriStart, uriEnd } = frame;
  if (member === 'name') return parseString(bytes, nameStart, nameEnd);
  if (member === 'uri') return parseString(bytes, uriStart, uriEnd);
  const { taskId } = parseParams(frame);
  return typeof taskId === 'string' ? taskId : undefined;
}

function mismatch(message: string): Refusal {
  return { ...REFUSALS.headerMismatch, message: `Header mismatch: ${message}` };
}
