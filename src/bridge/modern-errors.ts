// A legacy server's errors as a modern client may see them (docs/protocol.md#error-codes,
// #errors-across-eras).
import { GatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseError, parseParams } from '../jsonrpc/parse.ts';
import { RESOURCE_NOT_FOUND } from '../mcp/errors.ts';
import { RESOURCES_READ } from '../mcp/methods.ts';

export const MISSING_CAPABILITY = -32021;

/**
 * The error to answer with instead of the server's.
 * @param request the client's request
 * @returns undefined when the server's own may pass as it is
 */
export function modernError(request: Frame, answer: Frame): WireError | undefined {
  const error = parseError(answer);
  if (error === undefined)
    return { code: INTERNAL_ERROR, message: 'The server sent an invalid error object.' };
  const { code, message, data } = error;
  const text = typeof message === 'string' ? message : 'The server failed.';
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

/** Codes that mean something else, or nothing, to a modern client. */
function isReserved(code: number): boolean {
  const isOldRange = code <= -32000 && code >= -32019;
  const isSpecRange = code <= -32020 && code >= -32099;
  return isOldRange || isSpecRange;
}

/** The error of a request that needs a capability which its client does not declare. */
export function missingCapability(requiredCapabilities: Record<string, unknown>): WireError {
  return {
    code: MISSING_CAPABILITY,
    message: 'The request needs a capability that the client did not declare.',
    data: { requiredCapabilities },
  };
}

/** The failure of a call whose result a modern client could not read: results of MCP are objects. */
export function noObject(server: string): GatewayError {
  const message = `Server "${server}" answered with a result that is no object, as MCP asks for.`;
  return new GatewayError('server_protocol_error', message, { outcome: 'unknown', server });
}
