// Errors of servers for clients of the other era (docs/protocol.md#error-codes, #errors-across-eras), and
// errors of the translation.
import { INTERNAL_ERROR, INVALID_PARAMS, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseError, parseParams } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { ERRORS, isReserved, isSpecCode, RESOURCE_NOT_FOUND } from '../mcp/errors.ts';
import { RESOURCES_READ, TOOLS_CALL } from '../mcp/methods.ts';
import type { Outcome } from '../ports/request.ts';

/**
 * The error for a modern client instead of a legacy server's error.
 * @param request the client's request
 * @returns undefined if the server's error can be passed on
 */
export function modernError(request: Frame, answer: Frame): WireError | undefined {
  const error = parseError(answer);
  if (error === undefined) return ERRORS.serverErrorNoObject;
  const { code, message, data } = error;
  const text = textOf(message);
  if (code === RESOURCE_NOT_FOUND && request.method === RESOURCES_READ) {
    const uri = parseParams(request)['uri'];
    return {
      code: INVALID_PARAMS,
      message: text,
      data: isObject(data) ? { uri, ...data } : { uri },
    };
  }
  if (typeof code !== 'number' || !isReserved(code)) return undefined;
  return { code: INTERNAL_ERROR, message: text, data: { upstreamCode: code } };
}

/** The same for a legacy client and a modern server's error. */
export function legacyError(request: Frame, answer: Frame): WireError | undefined {
  const error = parseError(answer);
  if (error === undefined) return ERRORS.serverErrorMissing;
  const { code, message, data } = error;
  const text = textOf(message);
  const isMissing = isObject(data) && data['uri'] !== undefined;
  if (code === INVALID_PARAMS && request.method === RESOURCES_READ && isMissing) {
    return { code: RESOURCE_NOT_FOUND, message: text, data };
  }
  // These codes are about the request of the gateway to the server, not about the client's.
  if (typeof code === 'number' && isSpecCode(code)) {
    return { code: INTERNAL_ERROR, message: text, data: { upstreamCode: code } };
  }
  return undefined;
}

function textOf(message: unknown): string {
  return typeof message === 'string' ? message : 'The server failed.';
}

/** Ends a call that the gateway gives up. For the client, its tool has failed. */
export function failedCall(method: string, text: string): Outcome {
  return method === TOOLS_CALL
    ? jsonBytes({ content: [{ type: 'text', text }], isError: true })
    : { code: INTERNAL_ERROR, message: text };
}
