// Compares keys of members in the text, without making strings of them. A peer may send hundreds of thousands
// of keys in one message, and write each one with escapes.
import { BACKSLASH, decodeText, unescaped } from './json-text.ts';

const LOWER_U = 0x75;
const HEX_DIGITS = 4;
/** The longest escape of one character, as in `\u006b`. */
const MAX_ESCAPE_BYTES = 6;

/** Whether the key at [start, end), quotes included, is `name` after unescaping. `name` is ASCII. */
export function isKey(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const length = end - start - 2;
  if (length === name.length) return matches(bytes, start + 1, end - 1, name);
  if (length < name.length || length > name.length * MAX_ESCAPE_BYTES) return false;
  return matchesEscaped(bytes, start + 1, end - 1, name);
}

/** Whether the text at [start, end) is `word`. */
export function matches(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) {
    if (bytes[start + at] !== word[at]) return false;
  }
  return true;
}

/** Like `matches`, for text with escapes. Stops at the first character that differs. */
function matchesEscaped(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  let at = start;
  for (let index = 0; index < word.length; index++) {
    if (at >= end || characterAt(bytes, at) !== word[index]) return false;
    at += widthAt(bytes, at);
  }
  return at === end;
}

/** The byte at `at`, or the UTF-16 code unit of the escape there. The text is well-formed JSON. */
function characterAt(bytes: Buffer, at: number): number {
  if (bytes[at] !== BACKSLASH) return bytes[at] as number;
  const letter = bytes[at + 1] as number;
  return letter === LOWER_U ? hexAt(bytes, at + 2) : unescaped(letter);
}

function widthAt(bytes: Buffer, at: number): number {
  if (bytes[at] !== BACKSLASH) return 1;
  return bytes[at + 1] === LOWER_U ? 2 + HEX_DIGITS : 2;
}

function hexAt(bytes: Buffer, start: number): number {
  let value = 0;
  for (let at = start; at < start + HEX_DIGITS; at++) {
    const byte = bytes[at] as number;
    // A digit, or a letter in upper or lower case.
    value = value * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return value;
}

/** Names whose other spellings are detected too. */
export class FoldedNames {
  readonly #names: ReadonlySet<string>;
  readonly #longest: number;
  /** Whether a name has this length, by length. */
  readonly #lengths: readonly boolean[];

  /** @param names ASCII, in lower case */
  constructor(names: readonly string[]) {
    this.#names = new Set(names);
    this.#longest = Math.max(...names.map(({ length }) => length));
    this.#lengths = Array.from({ length: this.#longest + 1 }, (_, length) =>
      names.some((name) => name.length === length),
    );
  }

  /**
   * Whether the key at [start, end), quotes included, is one of the names for a peer that ignores case or
   * cuts at NUL. Reads no more of a key than the longest name has characters.
   */
  has(bytes: Buffer, start: number, end: number): boolean {
    let at = start + 1;
    let count = 0;
    let isAscii = true;
    while (at < end - 1) {
      const character = characterAt(bytes, at);
      if (character === 0) break;
      // Continuation bytes of UTF-8 belong to the character before them.
      if ((character & 0xc0) !== 0x80 || bytes[at] === BACKSLASH) count++;
      if (count > this.#longest) return false;
      if (character > 0x7f) isAscii = false;
      at += widthAt(bytes, at);
    }
    // Other characters may become several when they are folded, so the length is compared only for ASCII.
    if (isAscii && this.#lengths[count] !== true) return false;
    // Upper and then lower case also maps letters that fold to ASCII ones (long s, Kelvin sign).
    const key = decodeText(bytes, start + 1, at);
    return this.#names.has(key.toUpperCase().toLowerCase());
  }
}

/** The index of a key in a list; -1 if it is not there. */
export function indexOfKey(
  bytes: Buffer,
  key: number,
  keyEnd: number,
  keys: readonly Buffer[],
): number {
  for (let index = 0; index < keys.length; index++) {
    if (isKey(bytes, key, keyEnd, keys[index] as Buffer)) return index;
  }
  return -1;
}
