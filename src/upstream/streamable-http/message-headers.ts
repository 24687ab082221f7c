// The headers of one POST: what stands in the message stands there too, so that whoever is on the way
// can read it (2026-07-28 basic/transports/streamable-http). Made from the message alone.
import { parseParams, parseString } from '../../jsonrpc/parse.ts';
import { claimedVersion } from '../../mcp/envelope.ts';
import { encodeHeaderValue } from '../../mcp/header-values.ts';
import { namedBy } from '../../mcp/modern-methods.ts';
import { isAtLeast } from '../../mcp/versions.ts';
import type { Outgoing } from './outgoing.ts';
import type { ToolHeaders } from './tool-headers.ts';

type Headers = Record<string, string>;

/** What a handshake agreed on. */
export interface HttpSession {
  /** Undefined for a server that has no sessions. */
  readonly id: string | undefined;
  readonly version: string;
}

const JSON_TYPE = 'application/json';
const BOTH_TYPES = 'application/json, text/event-stream';

/** The headers of a message. */
export function messageHeaders(
  out: Outgoing,
  session: HttpSession | undefined,
  tools: ToolHeaders,
): Headers {
  const own = out.isModern ? modernHeaders(out, tools) : sessionHeaders(session);
  return { 'content-type': JSON_TYPE, accept: BOTH_TYPES, ...own };
}

/** The headers that say which session a request belongs to. */
export function sessionHeaders(session: HttpSession | undefined): Headers {
  if (session === undefined) return {};
  const { id, version } = session;
  return {
    ...(id === undefined ? {} : { 'mcp-session-id': id }),
    // The header exists since 2025-06-18.
    ...(isAtLeast(version, '2025-06-18') ? { 'mcp-protocol-version': version } : {}),
  };
}

function modernHeaders(out: Outgoing, tools: ToolHeaders): Headers {
  const { frame } = out;
  const name = nameOf(out);
  return {
    'mcp-protocol-version': claimedVersion(frame) ?? '',
    'mcp-method': frame.method,
    ...(name === undefined ? {} : { 'mcp-name': encodeHeaderValue(name) }),
    ...tools.headersOf(frame),
  };
}

function nameOf({ frame }: Outgoing): string | undefined {
  switch (namedBy(frame.method)) {
    case 'name':
      return parseString(frame.bytes, frame.nameStart, frame.nameEnd);
    case 'uri':
      return parseString(frame.bytes, frame.uriStart, frame.uriEnd);
    case 'taskId': {
      const { taskId } = parseParams(frame);
      return typeof taskId === 'string' ? taskId : undefined;
    }
    case undefined:
      return undefined;
  }
}
