// All requests of one connection, with their session. The headers of each POST are made from its message
// alone, so that intermediaries can read them (2026-07-28 basic/transports/streamable-http). Also requests of
// the channel itself, whose ids and answers are not seen by the mux.
import type { Frame } from '../../jsonrpc/frame.ts';
import { lastMember } from '../../jsonrpc/members.ts';
import { isObject, parseParams, parseSpan, parseString } from '../../jsonrpc/parse.ts';
import { scan } from '../../jsonrpc/scan.ts';
import { callMessage } from '../../jsonrpc/serialize.ts';
import { claimedVersion } from '../../mcp/envelope.ts';
import { encodeHeaderValue } from '../../mcp/header-values.ts';
import { TOOLS_LIST } from '../../mcp/methods.ts';
import { namedBy } from '../../mcp/modern-methods.ts';
import type { Logger } from '../../observe/logger.ts';
import { collect, readEvents } from '../remote/answer-body.ts';
import {
  type HttpAnswer,
  HttpEndpoint,
  type HttpRequest,
  type RemoteOptions,
  type RemoteParts,
} from '../remote/http-endpoint.ts';
import { type HttpSession, sessionHeaders } from '../remote/session.ts';
import { Outgoing } from './outgoing.ts';
import { ToolHeaders } from './tool-headers.ts';

const MAX_DELETE_MS = 2_000;
const MAX_PAGES = 64;
const PAGE_MS = 10_000;
/** Not an id of the mux, because those are numbers. */
const LIST_ID = 'sluice-tools';
const JSON_TYPE = 'application/json';
const BOTH_TYPES = 'application/json, text/event-stream';

type Headers = Readonly<Record<string, string>>;

/** The link to one server. */
export class HttpLink {
  readonly endpoint: HttpEndpoint;
  readonly logger: Logger;
  /** The largest message that is accepted. */
  readonly maxBytes: number;
  readonly tools: ToolHeaders;
  /** Undefined until the handshake is done. */
  session: HttpSession | undefined;

  constructor(target: { readonly url: string }, options: RemoteOptions, parts: RemoteParts) {
    this.endpoint = new HttpEndpoint(target, options.limits.inFlight, parts);
    this.logger = parts.logger;
    this.maxBytes = options.limits.message;
    this.tools = new ToolHeaders(parts.logger);
  }

  /** The headers of a message. */
  headersOf(out: Outgoing): Headers {
    const own = out.isModern ? this.#modernHeaders(out) : this.sessionHeaders;
    return { 'content-type': JSON_TYPE, accept: BOTH_TYPES, ...own };
  }

  /** The headers that identify the session of a request. */
  get sessionHeaders(): Headers {
    return sessionHeaders(this.session);
  }

  #modernHeaders(out: Outgoing): Headers {
    const { frame } = out;
    const name = nameOf(out);
    return {
      'mcp-protocol-version': claimedVersion(frame) ?? '',
      'mcp-method': frame.method,
      ...(name === undefined ? {} : { 'mcp-name': encodeHeaderValue(name) }),
      ...this.tools.headersOf(frame),
    };
  }

  /**
   * Sends a request of the channel itself.
   * @param limitMs how long the answer may take in total
   * @throws HttpFailure if the connection breaks, or the answer takes too long
   */
  async requestOwn(
    message: Outgoing,
    limitMs: number,
    { signal, ...rest }: Pick<HttpRequest, 'signal' | 'isCall' | 'from'>,
  ): Promise<HttpAnswer> {
    return await this.endpoint.request({
      ...rest,
      method: 'POST',
      headers: this.headersOf(message),
      body: message.frame.bytes,
      signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
      headMs: limitMs,
    });
  }

  /**
   * Lists a modern server's tools again, for a call whose headers it refused: the schema that says which
   * arguments are headers has changed, or was never seen.
   * @param call whose envelope the requests carry, and with which they end
   * @throws if the connection breaks
   */
  async refreshTools(call: Outgoing): Promise<void> {
    const envelope = envelopeOf(call);
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = { ...(cursor === undefined ? {} : { cursor }), _meta: envelope };
      const message = new Outgoing(callMessage(TOOLS_LIST, params, LIST_ID));
      const { from, signal } = call;
      const answer = await this.requestOwn(message, PAGE_MS, { from, signal, isCall: true });
      if (answer.status !== 200) {
        answer.discard();
        return;
      }
      const text = await lastMessage(answer, this.maxBytes);
      if (text === undefined) return;
      await this.tools.learn(text);
      const next = nextCursorOf(scan(text));
      if (next === undefined || next === cursor) return;
      cursor = next;
    }
  }

  /** Tells the server that the session is over, if there is one. Never fails, and does not take long. */
  async deleteSession(stopMs: number): Promise<void> {
    if (this.session?.id === undefined) return;
    const limitMs = Math.min(stopMs, MAX_DELETE_MS);
    try {
      const answer = await this.endpoint.request({
        method: 'DELETE',
        headers: this.sessionHeaders,
        signal: AbortSignal.timeout(limitMs),
        headMs: limitMs,
      });
      answer.discard();
    } catch {
      // It is gone, or ignores this: in both cases the session is over for the gateway.
    }
  }
}

/** The last message of an answer; undefined if it has none. */
export async function lastMessage(
  answer: HttpAnswer,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (answer.type === 'application/json') return await collect(answer, maxBytes);
  if (answer.type !== 'text/event-stream') {
    answer.discard();
    return undefined;
  }
  let last: Buffer | undefined;
  const position = { lastId: undefined, retryMs: undefined };
  await readEvents(answer, maxBytes, position, {
    message: (bytes) => {
      last = bytes;
    },
    oversize: () => undefined,
  });
  return last;
}

/** The envelope of a modern request, for another request on its behalf. */
export function envelopeOf({ frame }: Outgoing): Readonly<Record<string, unknown>> {
  const meta = parseSpan(frame.bytes, frame.metaStart, frame.metaEnd);
  const { progressToken: _, ...envelope } = isObject(meta) ? meta : {};
  return envelope;
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

function nextCursorOf({ bytes, resultStart, resultEnd }: Frame): string | undefined {
  const cursor = lastMember(bytes, resultStart, resultEnd, 'nextCursor');
  return cursor && parseString(bytes, cursor.valueStart, cursor.valueEnd);
}
