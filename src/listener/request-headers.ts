// Reads headers of requests: media types, accepted answers. Strict where a web page could make a browser send
// the request (docs/reliability.md#a03), tolerant where clients differ without harm.

/** `application/json`, alone or with the charset UTF-8. No other parameters, no unusual white space. */
const JSON_TYPE = /^application\/json(?: ?; ?charset="?utf-8"?)?$/i;

/** Whether a body has the type JSON, which a simple form of a web page can't send. */
export function isJsonBody(contentType: string | undefined, encoding: string | undefined): boolean {
  return contentType !== undefined && encoding === undefined && JSON_TYPE.test(contentType);
}

/** The media types that a client accepts. */
export interface AcceptHeader {
  readonly json: boolean;
  readonly events: boolean;
}

const BOTH: AcceptHeader = { json: true, events: true };

/** What nearly all clients send. Parsing it for each request would cost more than the rest. */
const USUAL: ReadonlySet<string> = new Set([
  'application/json, text/event-stream',
  'text/event-stream, application/json',
  '*/*',
]);

/** Reads `Accept`. Without the header everything is accepted (RFC 9110 12.5.1). */
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
