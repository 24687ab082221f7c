// Walks over JSON text without building anything. Each function takes the offset where a piece begins and
// returns the offset after it, or a negative number if the text is not well-formed (RFC 8259).

export const MALFORMED = -1;
export const TOO_DEEP = -2;
/** Deepest nesting that is accepted (docs/reliability.md#limits). */
export const MAX_DEPTH = 256;

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const MINUS = 0x2d;
/** The text of an object without members. */
export const EMPTY_OBJECT = Buffer.from('{}');
/** White space characters are not above this. */
const SPACE = 0x20;

// 1 for bytes that end a run of plain characters in a string: quote, backslash, control characters.
const ENDS_RUN = new Uint8Array(256);
for (let byte = 0; byte < 0x20; byte++) ENDS_RUN[byte] = 1;
ENDS_RUN[QUOTE] = 1;
ENDS_RUN[BACKSLASH] = 1;

const LITERALS: readonly (readonly [number, Buffer])[] = [
  [0x74, Buffer.from('true')],
  [0x66, Buffer.from('false')],
  [0x6e, Buffer.from('null')],
];

/** Skips white space. */
export function skipSpace(text: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = text[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
  return at;
}

/** Skips a string; `from` is at the opening quote. */
export function skipString(text: Uint8Array, from: number, end: number): number {
  return skipStringPart(text, from + 1, end, end);
}

/** `skipStringPart` returns `GOES_ON - offset` when the string continues at that offset. */
export const GOES_ON = -3;

/** Continues in a string; `from` is after the opening quote. May go a little beyond `until`. */
export function skipStringPart(text: Uint8Array, from: number, until: number, end: number): number {
  let at = from;
  while (at < until) {
    const byte = text[at] as number;
    if (ENDS_RUN[byte] === 0) {
      at++;
    } else if (byte === QUOTE) {
      return at + 1;
    } else if (byte === BACKSLASH) {
      at = skipEscape(text, at, end);
      if (at < 0) return MALFORMED;
    } else {
      return MALFORMED;
    }
  }
  return at < end ? GOES_ON - at : MALFORMED;
}

function skipEscape(text: Uint8Array, from: number, end: number): number {
  if (from + 1 >= end) return MALFORMED;
  switch (text[from + 1]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return from + 2;
    case 0x75: // u
      return from + 6 <= end && areHex(text, from + 2) ? from + 6 : MALFORMED;
    default:
      return MALFORMED;
  }
}

function areHex(text: Uint8Array, from: number): boolean {
  for (let at = from; at < from + 4; at++) {
    const byte = (text[at] as number) | 0x20;
    const isHex = (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66);
    // `| 0x20` maps 0x10-0x19 to digits, so the raw byte is checked too.
    if (!isHex || (text[at] as number) < 0x30) return false;
  }
  return true;
}

/** Skips a number. */
export function skipNumber(text: Uint8Array, from: number, end: number): number {
  let at = from;
  if (text[at] === MINUS) at++;
  if (at >= end) return MALFORMED;
  if (text[at] === 0x30) at++;
  else {
    const digits = skipDigits(text, at, end);
    if (digits === at) return MALFORMED;
    at = digits;
  }
  if (at < end && text[at] === 0x2e) {
    const digits = skipDigits(text, at + 1, end);
    if (digits === at + 1) return MALFORMED;
    at = digits;
  }
  if (at < end && (text[at] === 0x65 || text[at] === 0x45)) {
    at++;
    if (at < end && (text[at] === 0x2b || text[at] === MINUS)) at++;
    const digits = skipDigits(text, at, end);
    if (digits === at) return MALFORMED;
    at = digits;
  }
  return at;
}

function skipDigits(text: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && (text[at] as number) >= 0x30 && (text[at] as number) <= 0x39) at++;
  return at;
}

function skipLiteral(text: Uint8Array, from: number, end: number): number {
  for (const [first, word] of LITERALS) {
    if (text[from] !== first) continue;
    if (from + word.length > end) return MALFORMED;
    for (let at = 1; at < word.length; at++) {
      if (text[from + at] !== word[at]) return MALFORMED;
    }
    return from + word.length;
  }
  return MALFORMED;
}

/** Skips any value; `from` is at its first byte. */
export function skipValue(text: Uint8Array, from: number, end: number, depth: number): number {
  if (from >= end) return MALFORMED;
  const first = text[from] as number;
  if (first === QUOTE) return skipString(text, from, end);
  if (first === OPEN_BRACE) return skipObject(text, from, end, depth + 1);
  if (first === OPEN_BRACKET) return skipArray(text, from, end, depth + 1);
  if (first === MINUS || (first >= 0x30 && first <= 0x39)) return skipNumber(text, from, end);
  return skipLiteral(text, from, end);
}

function skipObject(text: Uint8Array, from: number, end: number, depth: number): number {
  if (depth > MAX_DEPTH) return TOO_DEEP;
  let at = skipSpace(text, from + 1, end);
  if (at < end && text[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (at >= end || text[at] !== QUOTE) return MALFORMED;
    at = skipString(text, at, end);
    if (at < 0) return at;
    at = skipColon(text, at, end);
    if (at < 0) return at;
    at = skipValue(text, at, end, depth);
    if (at < 0) return at;
    if ((text[at] as number) <= SPACE) at = skipSpace(text, at, end);
    if (at >= end) return MALFORMED;
    if (text[at] === CLOSE_BRACE) return at + 1;
    if (text[at] !== COMMA) return MALFORMED;
    at++;
    if ((text[at] as number) <= SPACE) at = skipSpace(text, at, end);
  }
}

function skipArray(text: Uint8Array, from: number, end: number, depth: number): number {
  if (depth > MAX_DEPTH) return TOO_DEEP;
  let at = skipSpace(text, from + 1, end);
  if (at < end && text[at] === CLOSE_BRACKET) return at + 1;
  for (;;) {
    at = skipValue(text, at, end, depth);
    if (at < 0) return at;
    if ((text[at] as number) <= SPACE) at = skipSpace(text, at, end);
    if (at >= end) return MALFORMED;
    if (text[at] === CLOSE_BRACKET) return at + 1;
    if (text[at] !== COMMA) return MALFORMED;
    at++;
    if ((text[at] as number) <= SPACE) at = skipSpace(text, at, end);
  }
}

/** Skips white space, a colon and white space; returns the start of the value. */
export function skipColon(text: Uint8Array, from: number, end: number): number {
  const at = skipSpace(text, from, end);
  if (at >= end || text[at] !== COLON) return MALFORMED;
  return skipSpace(text, at + 1, end);
}

/** Decodes the JSON string at [start, end), quotes included. The text must be well-formed. */
export function decodeString(text: Buffer, start: number, end: number): string {
  return decodeText(text, start + 1, end - 1);
}

/**
 * Decodes the text between the quotes of a JSON string, or the beginning of it. `end` must not be inside a
 * character.
 */
export function decodeText(text: Buffer, start: number, end: number): string {
  let isAscii = true;
  for (let at = start; at < end; at++) {
    const byte = text[at] as number;
    if (byte === BACKSLASH) return JSON.parse(`"${text.toString('utf8', start, end)}"`) as string;
    if (byte > 0x7f) isAscii = false;
  }
  return text.toString(isAscii ? 'latin1' : 'utf8', start, end);
}

/** The character that a letter after a backslash stands for, except for `u`. */
export function unescaped(letter: number): number {
  switch (letter) {
    case 0x62: // b
      return 0x08;
    case 0x66: // f
      return 0x0c;
    case 0x6e: // n
      return 0x0a;
    case 0x72: // r
      return 0x0d;
    case 0x74: // t
      return 0x09;
    default: // quote, backslash, slash
      return letter;
  }
}
