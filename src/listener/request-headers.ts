// What a request's headers say: media types, accepted answers. Strict where a browser could be
// tricked into sending the request (docs/reliability.md#a03), lenient where clients differ harmlessly.

/** `application/json`, alone or with an UTF-8 charset; nothing else, no odd white space. */
const JSON_TYPE = /^application\/json(?: ?; ?charset="?utf-8"?)?$/i;

/** Whether a body is JSON that was sent on purpose. */
export function isJsonBody(contentType: string | undefined, encoding: string | undefined): boolean {
  return contentType !== undefined && encoding === undefined && JSON_TYPE.test(contentType);
}

/** What a client can read. */
export interface AcceptHeader {
  readonly json: boolean;
  readonly events: boolean;
}

const BOTH: AcceptHeader = { json: true, events: true };

/** What nearly every client sends; reading it anew for each request would cost more than the rest. */
const USUAL: ReadonlySet<string> = new Set([
  'application/json, text/event-stream',
  'text/event-stream, application/json',
  '*/*',
]);

/**
 * Reads `Accept`. Absent means everything, as HTTP says (RFC 9110 12.5.1).
 */
export function acceptedBy(accept: string | undefined): AcceptHeader {
  if (accept === undefined || accept === '') return BOTH;
  if (USUAL.has(accept)) return BOTH;
  const types = accept
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map((part) => part.split(';', 1)[0]?.trim());
  const all = types.includes('*/*');
  return {
    json: all || types.includes('application/json') || types.includes('application/*'),
    events: all || types.includes('text/event-stream') || types.includes('text/*'),
  };
}
