// Keys of members as they stand in the text, compared without making strings of them.
import { BACKSLASH, decodeString } from './json-text.ts';

/** No name that is folded into is longer. */
const LONGEST_NAME = 'inputResponses'.length;

/** Whether the key at [start, end), quotes included, is `name`, escapes resolved. */
export function isKey(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  if (end - start === name.length + 2) return matches(bytes, start + 1, end - 1, name);
  if (end - start < name.length + 2) return false;
  return isEscapedKey(bytes, start, end, name);
}

function isEscapedKey(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  // An escape takes at most 6 bytes for one, so a longer key can't be this name.
  if (end - start > name.length * 6 + 2) return false;
  for (let at = start; at < end; at++) {
    if (bytes[at] === BACKSLASH) return decodeString(bytes, start, end) === name.toString('latin1');
  }
  return false;
}

/** Whether the text at [start, end) is `word`. */
export function matches(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) {
    if (bytes[start + at] !== word[at]) return false;
  }
  return true;
}

/**
 * Whether the key at [start, end), quotes included, is one of `names` to a peer that folds case or cuts
 * at NUL.
 * @param names in lower case
 */
export function foldsInto(bytes: Buffer, start: number, end: number, names: Set<string>): boolean {
  // A letter takes 3 bytes at most, unless it is escaped; a NUL is always.
  const isLong = end - start > LONGEST_NAME * 3 + 2;
  if (isLong && !bytes.subarray(start, end).includes(BACKSLASH)) return false;
  // Upper then lower case maps the letters that fold onto ASCII ones (long s, Kelvin sign) too.
  const folded = decodeString(bytes, start, end).toUpperCase().toLowerCase();
  const nul = folded.indexOf('\0');
  return names.has(nul < 0 ? folded : folded.slice(0, nul));
}
