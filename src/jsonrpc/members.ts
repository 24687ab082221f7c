// Edits the members of one JSON object as text. Values that stay are copied, not serialized again.

import type { Frame, ValueEnds } from './frame.ts';
import {
  CLOSE_BRACE,
  COLON as COLON_BYTE,
  COMMA as COMMA_BYTE,
  decodeString,
  OPEN_BRACE,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
} from './json-text.ts';
import { isKey } from './keys.ts';
import { scan } from './scan.ts';
import { jsonText } from './serialize.ts';
import { joinText, walkedText } from './text-walk.ts';

/** One member of an object, as offsets into its text. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * The members of the object at [start, end); none if the value is not an object.
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
 * The member with a key, or the last one of several, as parsers do. The other members cost nothing.
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

/**
 * The members with some keys, in one pass; the last one if a key is duplicated.
 * @param keys in ASCII
 */
export function lastMembers(
  bytes: Buffer,
  start: number,
  end: number,
  keys: readonly string[],
): Map<string, Member> {
  const names = keys.map((key): [string, Buffer] => [key, Buffer.from(key)]);
  const found = new Map<string, Member>();
  walk(bytes, start, end, (keyStart, keyEnd, valueStart, valueEnd) => {
    for (const [key, name] of names) {
      if (!isKey(bytes, keyStart, keyEnd, name)) continue;
      found.set(key, { key, keyStart, valueStart, valueEnd });
      return;
    }
  });
  return found;
}

/** Visits the members of an object one after another, without building anything. */
export class MemberSpans {
  readonly #bytes: Buffer;
  readonly #end: number;
  /** Of a large message: where its values end. */
  readonly #ends: ValueEnds | undefined;
  #at: number;
  /** The current member. */
  keyStart = -1;
  keyEnd = -1;
  valueStart = -1;
  valueEnd = -1;

  /** @param bytes well-formed JSON text with an object at [start, end); any other value has no members */
  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#end = end;
    this.#ends = walkedText(bytes)?.ends;
    this.#at = bytes[start] === OPEN_BRACE ? start : end;
  }

  /** Goes to the next member. @returns false if there is none */
  next(): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    // After the brace or the comma.
    const keyStart = skipSpace(bytes, this.#at + 1, end);
    if (keyStart >= end || bytes[keyStart] === CLOSE_BRACE) return this.#finish();
    const keyEnd = skipString(bytes, keyStart, end);
    if (keyEnd < 0) return this.#finish();
    const valueStart = skipColon(bytes, keyEnd, end);
    const valueEnd = this.#ends?.get(valueStart) ?? skipValue(bytes, valueStart, end, 0);
    if (valueEnd < 0) return this.#finish();
    this.keyStart = keyStart;
    this.keyEnd = keyEnd;
    this.valueStart = valueStart;
    this.valueEnd = valueEnd;
    const at = skipSpace(bytes, valueEnd, end);
    this.#at = bytes[at] === COMMA_BYTE ? at : end;
    return true;
  }

  #finish(): false {
    this.#at = this.#end;
    return false;
  }
}

function walk(
  bytes: Buffer,
  start: number,
  end: number,
  visit: (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void,
): void {
  const spans = new MemberSpans(bytes, start, end);
  while (spans.next()) {
    visit(spans.keyStart, spans.keyEnd, spans.valueStart, spans.valueEnd);
  }
}

/** The text of the value of the member with a key. */
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
 * Whether any object within a value has two members with one key. Takes one pass, for any depth.
 * @param bytes well-formed JSON text
 */
export function hasDuplicateKeys(bytes: Buffer, start: number, end: number): boolean {
  const open: Set<string>[] = [];
  let at = start;
  while (at < end) {
    if (bytes[at] === QUOTE) {
      const after = skipString(bytes, at, end);
      if (after < 0 || isDuplicate(bytes, at, after, open.at(-1))) return after > 0;
      at = after;
    } else {
      if (bytes[at] === OPEN_BRACE) open.push(new Set());
      else if (bytes[at] === CLOSE_BRACE) open.pop();
      at++;
    }
  }
  return false;
}

/** Notes a string if it is a key: only a key is followed by a colon. */
function isDuplicate(
  bytes: Buffer,
  start: number,
  end: number,
  keys: Set<string> | undefined,
): boolean {
  if (keys === undefined || bytes[skipSpace(bytes, end, bytes.length)] !== COLON_BYTE) return false;
  const key = decodeString(bytes, start, end);
  if (keys.has(key)) return true;
  keys.add(key);
  return false;
}

/** How to change the members of an object. */
export interface ObjectEdit {
  /** Members to remove. */
  readonly remove?: (key: string) => boolean;
  /** Members to set, as JSON text; they replace those with the same key. */
  readonly set?: ReadonlyMap<string, Buffer>;
}

const OPEN = Buffer.from('{');
const COMMA = Buffer.from(',');
const COLON = Buffer.from(':');
const CLOSE = Buffer.from('}');

/**
 * The text of an object with some members removed and some set.
 * @param bytes well-formed JSON text with an object at [start, end); pass `{}` for an absent one
 */
export function editObject(bytes: Buffer, start: number, end: number, edit: ObjectEdit): Buffer {
  return joinText(editedParts(bytes, start, end, edit), bytes, true);
}

/** A message in which the object at [start, end) is edited. Nothing is copied twice. */
export function withEdited({ bytes }: Frame, start: number, end: number, edit: ObjectEdit): Frame {
  const object = editedParts(bytes, start, end, edit);
  return scan(joinText([bytes.subarray(0, start), ...object, bytes.subarray(end)], bytes));
}

function editedParts(bytes: Buffer, start: number, end: number, edit: ObjectEdit): Buffer[] {
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
  parts.push(CLOSE);
  return parts;
}

/** Whether the object at [start, end) has no members. */
export function isEmptyObject(bytes: Buffer, start: number, end: number): boolean {
  return bytes[skipSpace(bytes, start + 1, end)] === CLOSE_BRACE;
}
