// Copies a message with some parts replaced. Everything else stays byte for byte
// (docs/architecture.md#bytes-not-objects).

import type { Frame } from './frame.ts';
import { LARGE_TEXT, noteParts } from './text-walk.ts';

const SPACE = 0x20;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Copies `bytes` with [start, end) replaced. */
export function replaceSpan(
  bytes: Buffer,
  start: number,
  end: number,
  replacement: Uint8Array,
): Buffer {
  const out = Buffer.allocUnsafe(bytes.length - (end - start) + replacement.length);
  bytes.copy(out, 0, 0, start);
  out.set(replacement, start);
  bytes.copy(out, start + replacement.length, end);
  if (out.length >= LARGE_TEXT) {
    noteParts(out, [bytes.subarray(0, start), replacement, bytes.subarray(end)], bytes);
  }
  return out;
}

/**
 * The message with another string or number as the value of a member that scan.ts noted; not for `method`.
 * @param value JSON text
 */
export function withValue(frame: Frame, start: number, end: number, value: Uint8Array): Frame {
  const bytes = replaceSpan(frame.bytes, start, end, value);
  return frame.replaced(bytes, end, value.length - (end - start));
}

/** A request with an id of the gateway, which also replaces the progress token, if there is one. */
export function withOwnId(request: Frame, id: number): Buffer {
  const text = Buffer.from(String(id), 'latin1');
  const { bytes, idStart, idEnd, tokenStart, tokenEnd } = request;
  if (tokenStart < 0) return replaceSpan(bytes, idStart, idEnd, text);
  return replaceTwoSpans(bytes, [idStart, idEnd, text], [tokenStart, tokenEnd, text]);
}

/** The same in parts. A large one is not copied: with 15 MB that takes 90 ms. */
export function ownIdParts(request: Frame, id: number): readonly Buffer[] {
  const { bytes, idStart, idEnd, tokenStart, tokenEnd } = request;
  if (bytes.length < LARGE_TEXT) return [withOwnId(request, id)];
  const text = Buffer.from(String(id), 'latin1');
  if (tokenStart < 0) return [bytes.subarray(0, idStart), text, bytes.subarray(idEnd)];
  return partsOfTwo(bytes, ...inOrder([idStart, idEnd, text], [tokenStart, tokenEnd, text]));
}

/** A message that may be in parts, in one. */
export function inOnePart(message: readonly Buffer[]): Buffer {
  const [first] = message;
  return first !== undefined && message.length === 1 ? first : Buffer.concat(message);
}

/** A span of a text, from and to, and what is to be there instead. */
type Replacement = readonly [number, number, Buffer];

function inOrder(first: Replacement, second: Replacement): [Replacement, Replacement] {
  return first[0] < second[0] ? [first, second] : [second, first];
}

function partsOfTwo(
  bytes: Buffer,
  [from, to, left]: Replacement,
  [nextFrom, nextTo, right]: Replacement,
): Buffer[] {
  return [
    bytes.subarray(0, from),
    left,
    bytes.subarray(to, nextFrom),
    right,
    bytes.subarray(nextTo),
  ];
}

/** Copies `bytes` with two spans replaced. The spans must not overlap; their order does not matter. */
export function replaceTwoSpans(bytes: Buffer, first: Replacement, second: Replacement): Buffer {
  const [left, right] = inOrder(first, second);
  const more = left[2].length - (left[1] - left[0]) + right[2].length - (right[1] - right[0]);
  const out = Buffer.allocUnsafe(bytes.length + more);
  let at = bytes.copy(out, 0, 0, left[0]);
  out.set(left[2], at);
  at += left[2].length;
  at += bytes.copy(out, at, left[1], right[0]);
  out.set(right[2], at);
  bytes.copy(out, at + right[2].length, right[1]);
  if (out.length >= LARGE_TEXT) {
    noteParts(out, partsOfTwo(bytes, left, right), bytes);
  }
  return out;
}

/**
 * The message with line breaks between tokens replaced by spaces, so that it fits on one line of stdio and in
 * one `data:` field. Strings of well-formed JSON contain no line breaks.
 */
export function onOneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(LINE_FEED) && !bytes.includes(CARRIAGE_RETURN)) return bytes;
  const out = Buffer.from(bytes);
  for (let at = 0; at < out.length; at++) {
    if (out[at] === LINE_FEED || out[at] === CARRIAGE_RETURN) out[at] = SPACE;
  }
  return out;
}
