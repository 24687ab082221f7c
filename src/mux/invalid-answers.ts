// Answers that are none: whose they would be, and what the caller is told instead.
import { asGatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import { parseError } from '../jsonrpc/parse.ts';
import type { Request } from '../ports/request.ts';
import { ownerOfOversize } from './oversize.ts';

/** The id of the call that an answer belongs to which is none. */
export function ownerOfInvalid(frame: Frame): number | undefined {
  const { bytes, fault } = frame;
  // The scan ended where the text is broken; the members before that are still good.
  if (fault === 'json' || fault === 'depth') return ownerOfOversize(bytes, bytes);
  const isAnswer = frame.method === '' && fault !== 'method' && fault !== 'long-method';
  return isAnswer ? integerId(bytes, frame.idStart, frame.idEnd) : undefined;
}

/** Why a call fails whose answer has its id as a text. */
export function stringIdText(server: string, id: number): string {
  return `Server "${server}" answered with the id "${id}", a text, instead of the number ${id}: JSON-RPC wants it back as it was sent.`;
}

/** Settles a call with its server's answer; with an error where that can't be used. */
export function settleWith(request: Request, answer: Frame, server: string): void {
  try {
    request.settle((answer.resultStart < 0 ? invalidError(answer) : undefined) ?? answer);
  } catch (error) {
    request.settle(asGatewayError(error, server, 'unknown'));
  }
}

/**
 * What to say instead of a server's error that is none: clients refuse whole messages over a code
 * that is not an integer (docs/protocol.md#messages).
 */
function invalidError(frame: Frame): WireError | undefined {
  const error = parseError(frame);
  const { code, message } = error ?? {};
  if (Number.isInteger(code) && typeof message === 'string') return undefined;
  const text = typeof message === 'string' ? message : 'The server answered with an invalid error.';
  return { code: INTERNAL_ERROR, message: text };
}
