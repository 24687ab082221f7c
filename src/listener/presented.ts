// What a request presents to come in.
import type { IncomingMessage } from 'node:http';
import type { Credentials } from '../auth/authenticator.ts';
import { certificateNames } from './certificate-names.ts';

const TICKET = /[?&]ticket=([\w-]{43})(?:&|$)/;
/** Where a browser can't send headers. */
const BROWSER_PATH = /^[^?]*\/(?:ws|sse)\/?(?:\?|$)/;

/** The ticket of a request: only where a browser can't send headers. */
export function ticketOf({ method, url }: IncomingMessage): string | undefined {
  if (method !== 'GET' || url === undefined || !BROWSER_PATH.test(url)) return undefined;
  return TICKET.exec(url)?.[1];
}

/** What a request presents to say who sends it. */
export function credentialsOf(request: IncomingMessage): Credentials {
  const { authorization, 'x-api-key': apiKey } = request.headers;
  return {
    authorization,
    // Several in one: nobody's key.
    apiKey: Array.isArray(apiKey) ? apiKey.join(',') : apiKey,
    certificate: certificateNames(request),
  };
}
