// CORS headers for the allowed origins: the exact origin, never a wildcard (docs/protocol.md#cors,
// docs/reliability.md#a04).
import type { IncomingMessage, ServerResponse } from 'node:http';

const EXPOSED = 'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate';
const METHODS = 'GET, POST, DELETE, OPTIONS';
const HEADERS =
  'Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Session-Id, Last-Event-ID, ' +
  'Mcp-Method, Mcp-Name';
/** How long browsers may cache the answer, in seconds. */
const MAX_AGE = '600';

/** Allows the page at `origin` to read the response. */
export function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', EXPOSED);
  response.setHeader('vary', 'Origin');
}

/** Answers a preflight request. It grants nothing if the origin is not allowed. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  const headers: Record<string, string> = { allow: METHODS, 'content-length': '0' };
  if (request.headers.origin !== undefined) {
    const asked = request.headers['access-control-request-headers'];
    headers['access-control-allow-methods'] = METHODS;
    headers['access-control-allow-headers'] =
      asked !== undefined && /^[\w\-, ]{1,500}$/.test(asked) ? asked : HEADERS;
    headers['access-control-max-age'] = MAX_AGE;
  }
  response.writeHead(204, headers);
  response.end();
}
