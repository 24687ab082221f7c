// A client as servers see it: somebody who can be told and asked things.

import type { WireError } from '../jsonrpc/error.ts';
import { Frame } from '../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../mcp/capabilities.ts';
import { ERRORS } from '../mcp/errors.ts';
import { ELICITATION } from '../mcp/methods.ts';
import type { Principal } from './principal.ts';
import type { Request } from './request.ts';

/**
 * What settles a server's request: the client's response, whose id is replaced by the server's; a result as
 * JSON text; or an error, as nobody will answer.
 */
export type Reply = Frame | Buffer | WireError;

/** A server's request on its way to a client. */
export interface ServerRequest {
  readonly frame: Frame;
  /** Ends it. The first reply counts; later ones do nothing. */
  settle(reply: Reply): void;
  /** The client says how far it is, with the token that the server gave. */
  progress(notification: Frame): void;
}

/** The result of a reply, as JSON text; undefined when it has none. */
export function resultOf(reply: Reply): Buffer | undefined {
  if (reply instanceof Frame) return reply.slice(reply.resultStart, reply.resultEnd);
  return Buffer.isBuffer(reply) ? reply : undefined;
}

const CLOSED_FORM = Buffer.from('{"action":"cancel"}');

/** The reply for a client that will not give one: that of somebody who closes a form, where there is one. */
export function replyForNobody(
  { frame }: Pick<ServerRequest, 'frame'>,
  why: WireError = ERRORS.clientNotBack,
): Reply {
  return frame.method === ELICITATION ? CLOSED_FORM : why;
}

/** One client's side of a session. */
export interface Downstream {
  readonly principal: Principal;
  /** The protocol revision agreed on with this client. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /**
   * Least severity of the log messages that its calls carry; infinite where it wants none. Absent:
   * what its session has set.
   */
  readonly logThreshold?: number;
  /** The client's `clientInfo`, or undefined where the protocol has none. */
  readonly info: unknown;
  /** Whether it reads now what belongs to no call. Absent where nothing reaches it like that. */
  readonly isListening?: boolean;
  /**
   * Since when nothing shows that it is still there, by the monotonic clock; in the future where it
   * is too early to tell. Undefined while something does.
   */
  readonly absentSinceMs?: number | undefined;
  /** False for a client that never opened a stream, so that only its calls show that it is there. */
  readonly hasListened?: boolean | undefined;
  /**
   * Tells the client something that belongs to no call of its.
   * @param kind messages of equal kind replace each other while nobody reads; undefined: keep all
   */
  notify(message: Buffer, kind: string | undefined): void;
  /**
   * Asks the client.
   * @param request the call during which the server asks; undefined when it is none
   */
  ask(serverRequest: ServerRequest, request: Request | undefined): void;
  /**
   * Takes a server request back: the server cancelled it, or is gone.
   * @param notice the server's `notifications/cancelled`, when it sent one
   */
  withdraw(serverRequest: ServerRequest, notice: Frame | undefined): void;
}
