// A client as the code for servers sees it: it can be sent notifications and server requests.

import type { WireError } from '../jsonrpc/error.ts';
import { Frame } from '../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import { ERRORS } from '../mcp/errors.ts';
import { ELICITATION } from '../mcp/methods.ts';
import type { Principal } from './principal.ts';
import type { Request } from './request.ts';

/**
 * What settles a server's request: the client's response, whose id is replaced by the server's; a result as
 * JSON text; or an error if no client answers.
 */
export type Reply = Frame | Buffer | WireError;

/** A server's request on its way to a client. */
export interface ServerRequest {
  readonly frame: Frame;
  /** Ends it. The first reply counts; later ones have no effect. */
  settle(reply: Reply): void;
  /** Progress of the client, with the server's progress token. */
  progress(notification: Frame): void;
}

/** The result of a reply as JSON text; undefined if it has none. */
export function resultOf(reply: Reply): Buffer | undefined {
  if (reply instanceof Frame) return reply.slice(reply.resultStart, reply.resultEnd);
  return Buffer.isBuffer(reply) ? reply : undefined;
}

const CLOSED_FORM = Buffer.from('{"action":"cancel"}');

/** The reply if the client does not give one: as if the user had dismissed a form, or else an error. */
export function replyForNobody(
  { frame }: Pick<ServerRequest, 'frame'>,
  why: WireError = ERRORS.clientNotBack,
): Reply {
  return frame.method === ELICITATION ? CLOSED_FORM : why;
}

/** One client. */
export interface Downstream {
  readonly principal: Principal;
  /** The negotiated protocol revision. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /**
   * The least severity of log messages for its calls; infinite: none. Absent: the level that its session has
   * set.
   */
  readonly logThreshold?: number;
  /** The client's `clientInfo`; undefined if the protocol has none. */
  readonly info: unknown;
  /** Whether it can now receive messages that belong to no call. Absent if it never can. */
  readonly isListening?: boolean;
  /**
   * Since when there is no sign that the client is connected, in monotonic milliseconds. In the future if it
   * is too early to tell. Undefined while there is a sign.
   */
  readonly absentSinceMs?: number | undefined;
  /** False if the client never opened a stream, so only its calls show that it is connected. */
  readonly hasListened?: boolean | undefined;
  /**
   * Sends the client a message that belongs to no call.
   * @param kind while the client does not read, a message replaces earlier ones of its kind; undefined: all
   *   are kept
   */
  notify(message: Buffer, kind: string | undefined): void;
  /**
   * Sends the client a server request.
   * @param request the call during which the server asks; undefined if there is none
   */
  ask(serverRequest: ServerRequest, request: Request | undefined): void;
  /**
   * Withdraws a server request, because the server cancelled it or is gone.
   * @param notice the server's `notifications/cancelled`, if it sent one
   */
  withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void;
}
