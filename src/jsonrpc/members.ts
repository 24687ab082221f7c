// Editing the members of one JSON object as text: values that stay are copied, never re-serialised.

import {
  CLOSE_BRACE,
  COLON as COLON_BYTE,
  decodeString,
  OPEN_BRACE,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
} from './json-text.ts';
import { isKey } from './keys.ts';
import { jsonText } from './serialize.ts';

/** One member of an object, as offsets into its text. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * The members of the object at [start, end); none where another value stands there.
 * @param bytes well-formed JSON text
 */
export function membersOf(bytes: Buffer, start: number, end: number): Member[] {
  const members: Member[] = [];
  walk(bytes, start, end, (keyStart, keyEnd, valueStart, valueEnd) => {
    members.push({ key: decodeString(bytes, keyStart, keyEnd), keyStart, valueStart, valueEnd });
  });
  return members;
}

/**
 * The member of a key; of several the last, as parsers take them. Makes nothing of the others.
 * @param key in ASCII
 */
export function lastMember(
  bytes: Buffer,
  start: number,
  end: number,
  key: string,
): Member | undefined {
  const name = Buffer.from(key);
  let last: Member | undefined;
  walk(bytes, start, end, (keyStart, keyEnd, valueStart, valueEnd) => {
    if (isKey(bytes, keyStart, keyEnd, name)) last = { key, keyStart, valueStart, valueEnd };
  });
  return last;
}

function walk(
  bytes: Buffer,
  start: number,
  end: number,
  visit: (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void,
): void {
  if (bytes[start] !== OPEN_BRACE) return;
  let at = skipSpace(bytes, start + 1, end);
  while (at < end && bytes[at] !== CLOSE_BRACE) {
    const keyEnd = skipString(bytes, at, end);
    if (keyEnd < 0) return;
    const valueStart = skipColon(bytes, keyEnd, end);
    const valueEnd = skipValue(bytes, valueStart, end, 0);
    if (valueEnd < 0) return;
    visit(at, keyEnd, valueStart, valueEnd);
    at = skipSpace(bytes, valueEnd, end);
    if (bytes[at] === CLOSE_BRACE) return;
    at = skipSpace(bytes, at + 1, end);
  }
}

/** The text of that member's value. */
export function memberText(
  bytes: Buffer,
  start: number,
  end: number,
  key: string,
): Buffer | undefined {
  const member = lastMember(bytes, start, end, key);
  return member && bytes.subarray(member.valueStart, member.valueEnd);
}

/**
 * Whether any object in a value has two members of one key. One pass, however deep it is.
 * @param bytes well-formed JSON text
 */
export function hasTwins(bytes: Buffer, start: number, end: number): boolean {
  const open: Set<string>[] = [];
  let at = start;
  while (at < end) {
    if (bytes[at] === QUOTE) {
      const after = skipString(bytes, at, end);
      if (after < 0 || isTwin(bytes, at, after, open.at(-1))) return after > 0;
      at = after;
    } else {
      if (bytes[at] === OPEN_BRACE) open.push(new Set());
      else if (bytes[at] === CLOSE_BRACE) open.pop();
      at++;
    }
  }
  return false;
}

/** Notes a string, if it is a key: only a key is followed by a colon. */
function isTwin(bytes: Buffer, start: number, end: number, keys: Set<string> | undefined): boolean {
  if (keys === undefined || bytes[skipSpace(bytes, end, bytes.length)] !== COLON_BYTE) return false;
  const key = decodeString(bytes, start, end);
  if (keys.has(key)) return true;
  keys.add(key);
  return false;
}

/** What becomes of the members of an object. */
export interface ObjectEdit {
  /** Members that go. */
  readonly remove?: (key: string) => boolean;
  /** Members that are set, as JSON text; they replace those of the same key. */
  readonly set?: ReadonlyMap<string, Buffer>;
}

const OPEN = Buffer.from('{');
const COMMA = Buffer.from(',');
const COLON = Buffer.from(':');
const CLOSE = Buffer.from('}');

/**
 * The text of an object with some members removed and some set.
 * @param bytes well-formed JSON text, an object at [start, end); an absent one is given as `{}`
 */
export function editObject(bytes: Buffer, start: number, end: number, edit: ObjectEdit): Buffer {
  const parts: Buffer[] = [];
  const add = (...member: Buffer[]): void => {
    parts.push(parts.length === 0 ? OPEN : COMMA, ...member);
  };
  for (const { key, keyStart, valueEnd } of membersOf(bytes, start, end)) {
    if (edit.remove?.(key) === true || edit.set?.has(key) === true) continue;
    add(bytes.subarray(keyStart, valueEnd));
  }
  for (const [key, value] of edit.set ?? []) add(Buffer.from(jsonText(key)), COLON, value);
  if (parts.length === 0) parts.push(OPEN);
  return Buffer.concat([...parts, CLOSE]);
}

/** Whether the object at [start, end) has no members. */
export function isEmptyObject(bytes: Buffer, start: number, end: number): boolean {
  return bytes[skipSpace(bytes, start + 1, end)] === CLOSE_BRACE;
}
