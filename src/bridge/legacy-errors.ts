// A modern server's errors as a legacy client may see them (docs/protocol.md#error-codes,
// #errors-across-eras).
import { INTERNAL_ERROR, INVALID_PARAMS, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseError } from '../jsonrpc/parse.ts';
import { RESOURCE_NOT_FOUND } from '../mcp/errors.ts';
import { RESOURCES_READ } from '../mcp/methods.ts';

/**
 * The error to answer with instead of the server's.
 * @param request the client's request
 * @returns undefined when the server's own may pass as it is
 */
export function legacyError(request: Frame, answer: Frame): WireError | undefined {
  const error = parseError(answer);
  if (error === undefined)
    return { code: INTERNAL_ERROR, message: 'The server sent no error object.' };
  const { code, message, data } = error;
  const text = typeof message === 'string' ? message : 'The server failed.';
  const isMissing = isObject(data) && data['uri'] !== undefined;
  if (code === INVALID_PARAMS && request.method === RESOURCES_READ && isMissing) {
    return { code: RESOURCE_NOT_FOUND, message: text, data };
  }
  // These speak of the way between gateway and server, which is none of the client's business.
  if (typeof code === 'number' && code <= -32020 && code >= -32099) {
    return { code: INTERNAL_ERROR, message: text, data: { upstreamCode: code } };
  }
  return undefined;
}
