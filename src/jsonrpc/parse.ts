// Makes objects of spans, where a message must really be read or changed: `initialize`, capabilities, errors.
// The only JSON.parse of messages.
import { MAX_MEMBERS } from '../base/text-limits.ts';
import type { Frame, ValueEnds } from './frame.ts';
import {
  CLOSE_BRACKET,
  COLON,
  COMMA,
  decodeString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
  skipValue,
} from './json-text.ts';
import { isKey } from './keys.ts';
import { lastMember, MemberSpans } from './members.ts';
import { walkedText } from './text-walk.ts';

export type JsonObject = { readonly [member: string]: unknown };

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at [start, end) of a well-formed text; undefined if it is absent (-1). */
export function parseSpan(bytes: Buffer, start: number, end: number): unknown {
  return start < 0 ? undefined : JSON.parse(bytes.toString('utf8', start, end));
}

/** What one value costs in addition to its text: an empty object, and its place in its parent. */
const VALUE_BYTES = 64;

/** An upper limit, in bytes, for the objects that a well-formed text would be parsed to. */
export function parsedCost(bytes: Buffer, start: number, end: number): number {
  let cost = Math.max(end - start, 0);
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    // One of these is before each value. Those in strings are counted too.
    if (byte === COMMA || byte === COLON || byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      cost += VALUE_BYTES;
    }
  }
  return cost;
}

/** Parses a text that the gateway wrote. */
export function parseText(text: string): unknown {
  return JSON.parse(text);
}

/** The string at [start, end); undefined if it is absent (-1) or of another type. */
export function parseString(bytes: Buffer, start: number, end: number): string | undefined {
  return start >= 0 && bytes[start] === QUOTE ? decodeString(bytes, start, end) : undefined;
}

/** `params` as an object; empty when absent. */
export function parseParams(frame: Frame): JsonObject {
  const value = parseSpan(frame.bytes, frame.paramsStart, frame.paramsEnd);
  return isObject(value) ? value : {};
}

/** No text in `params` that the gateway reads in this way is longer. */
const MAX_TEXT_BYTES = 64 * 1024;

/** A member of `params` that is a short string. The other members, which may be large, are not parsed. */
export function textParam(
  { bytes, paramsStart, paramsEnd }: Frame,
  key: string,
): string | undefined {
  const member = paramsStart < 0 ? undefined : lastMember(bytes, paramsStart, paramsEnd, key);
  if (member === undefined || member.valueEnd - member.valueStart > MAX_TEXT_BYTES)
    return undefined;
  return parseString(bytes, member.valueStart, member.valueEnd);
}

/** `result` as an object; undefined if it is absent or of another type. */
export function parseResult(frame: Frame): JsonObject | undefined {
  const value = parseSpan(frame.bytes, frame.resultStart, frame.resultEnd);
  return isObject(value) ? value : undefined;
}

/** Visits the elements of a JSON array one after another, without building anything. */
export class Elements {
  readonly #bytes: Buffer;
  /** Of a large batch: where its values end. */
  readonly #ends: ValueEnds | undefined;
  #at: number;
  /** The current element. */
  start = -1;
  end = -1;

  /**
   * @param bytes a text that scan() marked as `array`, so it is well-formed; any other text has no elements
   */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#ends = walkedText(bytes)?.ends;
    const start = skipSpace(bytes, 0, bytes.length);
    this.#at = bytes[start] === OPEN_BRACKET ? start : bytes.length;
  }

  /** Goes to the next element. @returns false if there is none */
  next(): boolean {
    const bytes = this.#bytes;
    const { length } = bytes;
    // After the bracket or the comma.
    const start = skipSpace(bytes, this.#at + 1, length);
    if (start >= length || bytes[start] === CLOSE_BRACKET) return this.#finish();
    const end = this.#ends?.get(start) ?? skipValue(bytes, start, length, 0);
    if (end < 0) return this.#finish();
    this.start = start;
    this.end = end;
    const at = skipSpace(bytes, end, length);
    this.#at = bytes[at] === COMMA ? at : length;
    return true;
  }

  #finish(): false {
    this.#at = this.#bytes.length;
    return false;
  }
}

/**
 * The elements of a JSON array, as views of its bytes.
 * @param bytes a text that scan() marked as `array`, so it is well-formed
 * @param most stops after so many
 */
export function splitArray(bytes: Buffer, most = Number.POSITIVE_INFINITY): Buffer[] {
  const found: Buffer[] = [];
  const elements = new Elements(bytes);
  while (found.length < most && elements.next()) {
    found.push(bytes.subarray(elements.start, elements.end));
  }
  return found;
}

/** An error code has no more digits. */
const MAX_CODE_BYTES = 32;
/** A server may put anything into an error. Of a larger one only code and message are read. */
export const READ_ERROR_BYTES = 64 * 1024;
/** A larger error is not parsed, even if it has few values. */
const MAX_CHEAP_BYTES = 2 * 1024 * 1024;
/** A longer message is replaced by a note. */
const MAX_MESSAGE_BYTES = 16 * 1024;
const LONG_MESSAGE = 'The message of the error is too long to be read.';
const CODE = Buffer.from('code');
const MESSAGE = Buffer.from('message');

/**
 * `error` as an object; undefined if it is absent or of another type. Of a large one only the short members.
 */
export function parseError(answer: Frame): JsonObject | undefined {
  const { bytes, errorStart, errorEnd } = answer;
  if (isLarge(answer) && !isCheap(bytes, errorStart, errorEnd)) return shortMembers(answer);
  const error = parseSpan(bytes, errorStart, errorEnd);
  return isObject(error) ? error : undefined;
}

function isLarge({ errorStart, errorEnd }: Frame): boolean {
  return errorEnd - errorStart > READ_ERROR_BYTES;
}

/** Whether a large error has few values, so that parsing it is fast. */
function isCheap(bytes: Buffer, start: number, end: number): boolean {
  return end - start <= MAX_CHEAP_BYTES && parsedCost(bytes, start, end) <= 2 * MAX_CHEAP_BYTES;
}

function shortMembers({ bytes, errorStart, errorEnd }: Frame): JsonObject | undefined {
  return bytes[errorStart] === OPEN_BRACE ? largeError(bytes, errorStart, errorEnd) : undefined;
}

function largeError(bytes: Buffer, start: number, end: number): JsonObject {
  const error: { code?: unknown; message?: unknown } = {};
  const member = new MemberSpans(bytes, start, end);
  for (let members = 0; members < MAX_MEMBERS && member.next(); members++) {
    const { keyStart, keyEnd, valueStart, valueEnd } = member;
    const length = valueEnd - valueStart;
    if (isKey(bytes, keyStart, keyEnd, CODE) && length <= MAX_CODE_BYTES) {
      error.code = parseSpan(bytes, valueStart, valueEnd);
    } else if (isKey(bytes, keyStart, keyEnd, MESSAGE) && bytes[valueStart] === QUOTE) {
      const isRead = length <= MAX_MESSAGE_BYTES;
      error.message = isRead ? decodeString(bytes, valueStart, valueEnd) : LONG_MESSAGE;
    }
  }
  return error;
}

/** The code of an error response; undefined if it has none. */
export function errorCodeOf(answer: Frame): number | undefined {
  const error = isLarge(answer) ? shortMembers(answer) : parseError(answer);
  const code = error?.['code'];
  return typeof code === 'number' ? code : undefined;
}
