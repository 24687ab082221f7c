// Checks a large JSON text in steps, over several turns of the event loop, before it is scanned: scanning 16
// MiB at once takes up to 0.2 s. A walk notes where large values end, and what is wrong with the text. Code
// that reads the same buffer afterwards can skip these values.
import { nextTurn, TurnQuota, turnFor } from '../base/turns.ts';
import type { Frame, ValueEnds } from './frame.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  GOES_ON,
  MALFORMED,
  MAX_DEPTH,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  skipStringPart,
  skipValue,
  TOO_DEEP,
} from './json-text.ts';

/** Texts of this size are walked first; smaller ones are scanned at once. */
export const LARGE_TEXT = 1024 * 1024;
/** The length of one step. Keys and numbers are never split, so a step may be longer. */
export const STEP_BYTES = 256 * 1024;
/** The ends of shorter values are not noted, because finding them again is as fast. */
const NOTED_BYTES = 4 * 1024;
/** The message, its result, the content, its blocks, the resource in a block, and its text or blob. */
const NOTED_DEPTH = 6;
/** What is walked in one turn of the event loop, if the caller has no limit. */
const IN_TURN = new TurnQuota(STEP_BYTES);

/** What is known about a text after a walk. */
export interface WalkedText {
  /** The ends of values by their start, for large values that are not too deep in the text. */
  readonly ends: ValueEnds;
  /** What is wrong with the text, as `skipValue` returns it. */
  readonly fault: number | undefined;
}

const WALKED = new WeakMap<Buffer, WalkedText>();

/** What is known about a text; undefined if it is small, or was not walked. */
export function walkedText(bytes: Buffer): WalkedText | undefined {
  return bytes.length < LARGE_TEXT ? undefined : WALKED.get(bytes);
}

/**
 * A view of a value in a text. What a walk has found in the text stays known for the view.
 * @param text well-formed JSON
 */
export function viewOf(text: Buffer, start: number, end: number): Buffer {
  const view = text.subarray(start, end);
  if (view.length < LARGE_TEXT) return view;
  const ends = WALKED.get(text)?.ends;
  if (ends !== undefined) WALKED.set(view, { ends: endsFrom(ends, start), fault: undefined });
  return view;
}

function endsFrom(ends: ValueEnds, offset: number): ValueEnds {
  return {
    get: (start) => {
      const end = ends.get(start + offset);
      return end === undefined ? undefined : end - offset;
    },
  };
}

/** A part of a new text that was copied from another text. */
interface Piece {
  /** Of the other text; the part was there from `start` to `end`. */
  readonly ends: ValueEnds;
  readonly start: number;
  readonly end: number;
  /** Its place in the new text. */
  readonly at: number;
}

/** Joins texts. What is known about the parts stays known: see `noteParts`. */
export function joinText(parts: readonly Uint8Array[], source: Buffer, isValue = false): Buffer {
  const text = Buffer.concat(parts);
  if (text.length >= LARGE_TEXT) noteParts(text, parts, source, isValue);
  return text;
}

/**
 * Copies a part of a text, so that the whole text can be freed.
 * @param part a view of `source`
 */
export function copyText(part: Buffer, source = part): Buffer {
  return joinText([part], source, true);
}

/**
 * Notes the parts of a new text. If the parts are well-formed, so is the text. What walks have found in them
 * stays known, so the text need not be walked.
 * @param source the text that parts are views of; other parts may be separate texts
 * @param isValue whether the new text is one value, and nothing else
 */
export function noteParts(
  text: Buffer,
  parts: readonly Uint8Array[],
  source: Buffer,
  isValue = false,
): void {
  const pieces: Piece[] = [];
  let at = 0;
  for (const [index, part] of parts.entries()) {
    // Ends in shorter parts are found again as fast. The first and last part count, because much may be
    // between them.
    const counts = index === 0 || index === parts.length - 1 || part.length >= NOTED_BYTES;
    const piece = counts ? pieceOf(part, at, source) : undefined;
    if (piece !== undefined) pieces.push(piece);
    at += part.length;
  }
  if (pieces.length === 0) return;
  const get = (start: number): number | undefined =>
    isValue && start === 0 ? text.length : endIn(pieces, start);
  WALKED.set(text, { ends: { get }, fault: undefined });
}

function pieceOf(part: Uint8Array, at: number, source: Buffer): Piece | undefined {
  const own = WALKED.get(part as Buffer);
  if (own !== undefined) return { ends: own.ends, start: 0, end: part.length, at };
  const ends = walkedText(source)?.ends;
  const start = part.byteOffset - source.byteOffset;
  const end = start + part.length;
  const isView = part.buffer === source.buffer && start >= 0 && end <= source.length;
  return ends !== undefined && isView ? { ends, start, end, at } : undefined;
}

/**
 * The end of a value that begins in one of the pieces, and ends in the same piece or a later one of the same
 * text.
 */
function endIn(pieces: readonly Piece[], from: number): number | undefined {
  const piece = pieces.find((one) => one.at <= from && from < one.at + one.end - one.start);
  const end = piece?.ends.get(from - piece.at + piece.start);
  if (piece === undefined || end === undefined) return undefined;
  const last = pieces.find((one) => one.ends === piece.ends && one.start < end && end <= one.end);
  return last && end - last.start + last.at;
}

/** Skips a value of a message; at once, if a walk has found its end. */
export function skipMember(frame: Frame, value: number, depth: number): number {
  const { bytes, ends } = frame;
  const end = ends?.get(value);
  return end === undefined ? skipValue(bytes, value, bytes.length, depth) : end;
}

/**
 * Skips a member, and all members after it if the end of their object is known. @returns the offset of a
 * comma or brace
 */
export function skipRest(frame: Frame, open: number, value: number, depth: number): number {
  const close = frame.ends?.get(open);
  return close === undefined ? skipMember(frame, value, depth) : close - 1;
}

/** A walk over one text. Its results are known for the text when it is over. */
export class TextWalk {
  readonly bytes: Buffer;
  readonly #ends = new Map<number, number>();
  /** The starts of the open objects and arrays. */
  readonly #open: number[] = [];
  /** The start of the next item of an array, or member of an object. */
  #at: number;
  /** The start of the string that the walk is in; -1: none. */
  #string = -1;
  #isOver = false;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.#at = skipSpace(bytes, 0, bytes.length);
  }

  /** Goes on for about `STEP_BYTES`. @returns whether the walk is over */
  step(): boolean {
    const until = this.#at + STEP_BYTES;
    while (!this.#isOver && this.#at < until) {
      const after = this.#string < 0 ? this.#item(this.#at) : this.#goOnInString(this.#at);
      if (after < 0) this.#end(after);
      else this.#at = after;
    }
    return this.#isOver;
  }

  /**
   * Reads one item. @returns the start of the next one, inside or after this one; negative if something is
   * wrong
   */
  #item(from: number): number {
    const { bytes } = this;
    const value = this.#isIn(OPEN_BRACE) ? skipKey(bytes, from) : from;
    if (value < 0) return value;
    const first = bytes[value];
    if (first === QUOTE) {
      this.#string = value;
      return this.#goOnInString(value + 1);
    }
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
      const after = skipValue(bytes, value, bytes.length, 0);
      return after < 0 ? after : this.#behind(after);
    }
    if (this.#open.length === MAX_DEPTH) return TOO_DEEP;
    const inside = skipSpace(bytes, value + 1, bytes.length);
    if (bytes[inside] === (first === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)) {
      return this.#behind(inside + 1);
    }
    this.#open.push(value);
    return inside;
  }

  #goOnInString(from: number): number {
    const { bytes } = this;
    const after = skipStringPart(bytes, from, from + STEP_BYTES, bytes.length);
    if (after <= GOES_ON) return GOES_ON - after;
    if (after < 0) return after;
    this.#note(this.#string, after);
    this.#string = -1;
    return this.#behind(after);
  }

  #isIn(bracket: number): boolean {
    return this.bytes[this.#open[this.#open.length - 1] ?? -1] === bracket;
  }

  /** Closes what ends after a value. @returns the start of the next item; negative if something is wrong */
  #behind(value: number): number {
    const { bytes } = this;
    const { length } = bytes;
    let after = value;
    while (this.#open.length > 0) {
      const at = skipSpace(bytes, after, length);
      if (bytes[at] === COMMA) return skipSpace(bytes, at + 1, length);
      if (bytes[at] !== (this.#isIn(OPEN_BRACE) ? CLOSE_BRACE : CLOSE_BRACKET)) return MALFORMED;
      after = at + 1;
      this.#note(this.#open.pop() ?? 0, after);
    }
    // The scan checks what comes after the outermost value.
    this.#end(undefined);
    return after;
  }

  #note(start: number, end: number): void {
    const isNoted = end - start >= NOTED_BYTES && this.#open.length < NOTED_DEPTH;
    if (isNoted) this.#ends.set(start, end);
  }

  #end(fault: number | undefined): void {
    this.#isOver = true;
    WALKED.set(this.bytes, { ends: this.#ends, fault });
  }
}

/** Skips a key and its colon. */
function skipKey(bytes: Buffer, from: number): number {
  if (bytes[from] !== QUOTE) return MALFORMED;
  const after = skipString(bytes, from, bytes.length);
  return after < 0 ? after : skipColon(bytes, after, bytes.length);
}

/** Walks over a text in several turns, if it is large. */
export async function walkOver(bytes: Buffer): Promise<void> {
  if (bytes.length < LARGE_TEXT || WALKED.has(bytes)) return;
  const walk = new TextWalk(bytes);
  // This turn has already processed its last chunk.
  await nextTurn();
  for (let isOver = false; !isOver; ) {
    await turnFor(IN_TURN, STEP_BYTES);
    isOver = walk.step();
  }
}
