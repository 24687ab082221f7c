// Errors of servers as clients of the other era may see them (docs/protocol.md#error-codes,
// #errors-across-eras), and those of the way between.
import { GatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseError, parseParams } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { RESOURCE_NOT_FOUND } from '../mcp/errors.ts';
import { RESOURCES_READ, TOOLS_CALL } from '../mcp/methods.ts';
import type { Outcome } from '../ports/request.ts';

export const MISSING_CAPABILITY = -32021;

/**
 * The error to answer a modern client with instead of a legacy server's.
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

/** The same for a legacy client: the error to answer with instead of a modern server's. */
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

/** What ends a call that the gateway gives up: its tool failed, as the client sees it. */
export function failedCall(method: string, text: string): Outcome {
  return method === TOOLS_CALL
    ? jsonBytes({ content: [{ type: 'text', text }], isError: true })
    : { code: INTERNAL_ERROR, message: text };
}
