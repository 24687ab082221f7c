// Removes all members with one name from a JSON text, at any depth, in one pass. The text comes from a peer
// and may be large and deep.
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
} from './json-text.ts';
import { isKey } from './keys.ts';

/**
 * A text without the members of that name; everything else is unchanged.
 * @param text well-formed JSON text, nested no deeper than scan() allows
 * @returns the same buffer if there is no such member
 */
export function withoutKey(text: Buffer, key: Buffer): Buffer {
  return new Stripper(text, key).strip();
}

class Stripper {
  readonly #text: Buffer;
  readonly #key: Buffer;
  readonly #kept: Buffer[] = [];
  #copied = 0;

  constructor(text: Buffer, key: Buffer) {
    this.#text = text;
    this.#key = key;
  }

  strip(): Buffer {
    this.#value(skipSpace(this.#text, 0, this.#text.length));
    if (this.#copied === 0) return this.#text;
    this.#kept.push(this.#text.subarray(this.#copied));
    return Buffer.concat(this.#kept);
  }

  /** Each of these methods takes the start of a value and returns its end. */
  #value(at: number): number {
    switch (this.#text[at]) {
      case OPEN_BRACE:
        return this.#object(at);
      case OPEN_BRACKET:
        return this.#array(at);
      default:
        return this.#after(skipValue(this.#text, at, this.#text.length, 0));
    }
  }

  #object(open: number): number {
    const text = this.#text;
    let at = this.#space(open + 1);
    let isKept = false;
    let before = at;
    while (at < text.length && text[at] !== CLOSE_BRACE) {
      const start = at;
      const keyEnd = this.#after(skipString(text, start, text.length));
      const value = this.#after(skipColon(text, keyEnd, text.length));
      const isGone = isKey(text, start, keyEnd, this.#key);
      const end = isGone ? this.#after(skipValue(text, value, text.length, 0)) : this.#value(value);
      at = this.#toNext(end);
      // With the comma before it, or the one after it if there is none before.
      if (isGone) this.#cut(isKept ? before : start, isKept ? end : at);
      else isKept = true;
      before = end;
    }
    return at + 1;
  }

  #array(open: number): number {
    let at = this.#space(open + 1);
    while (at < this.#text.length && this.#text[at] !== CLOSE_BRACKET) {
      at = this.#toNext(this.#value(at));
    }
    return at + 1;
  }

  #cut(start: number, end: number): void {
    this.#kept.push(this.#text.subarray(this.#copied, start));
    this.#copied = end;
  }

  #toNext(end: number): number {
    const at = this.#space(end);
    return this.#text[at] === COMMA ? this.#space(at + 1) : at;
  }

  #space(at: number): number {
    return skipSpace(this.#text, at, this.#text.length);
  }

  #after(at: number): number {
    if (at < 0) throw new SyntaxError('the text is not JSON');
    return at;
  }
}
