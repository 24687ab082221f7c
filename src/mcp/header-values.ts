// The values of Mcp-Name and Mcp-Param-* headers: plain text, or marked base64 if a header can't carry the
// text (2026-07-28 basic/transports/streamable-http).

const PREFIX = '=?base64?';
const SUFFIX = '?=';
const PLAIN = /^[\x20-\x7e\t]+$/;

/** The header value for a text. */
export function encodeHeaderValue(text: string): string {
  const isPlain = PLAIN.test(text) && text.trim() === text && !isMarked(text);
  return isPlain ? text : `${PREFIX}${Buffer.from(text, 'utf8').toString('base64')}${SUFFIX}`;
}

/**
 * The text of a header value.
 * @returns undefined if it is marked as base64, but is not base64 of UTF-8
 */
export function decodeHeaderValue(value: string): string | undefined {
  const trimmed = value.trim();
  if (!isMarked(trimmed)) return trimmed;
  const encoded = trimmed.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined; // not UTF-8
  }
}

function isMarked(value: string): boolean {
  return (
    value.length >= PREFIX.length + SUFFIX.length &&
    value.startsWith(PREFIX) &&
    value.endsWith(SUFFIX)
  );
}

/** Whether a header value is equal to an argument (`42.0` equals 42; booleans are compared as text). */
export function isHeaderFor(value: string, argument: unknown): boolean {
  const text = decodeHeaderValue(value);
  if (text === undefined) return false;
  if (typeof argument === 'number') return text.trim() !== '' && Number(text) === argument;
  return text === argument || (typeof argument === 'boolean' && text === `${argument}`);
}
