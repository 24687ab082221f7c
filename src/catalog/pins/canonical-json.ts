// One canonical text for all texts with the same JSON value: members are sorted, numbers and strings have one
// spelling. Numbers are not converted to JavaScript numbers, so 9007199254740993 stays exact. Invisible
// characters in strings are escaped, because such texts are made for people.
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  decodeString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
} from '../../jsonrpc/json-text.ts';
import { commaSeparated, jsonText } from '../../jsonrpc/serialize.ts';

/** Control, format, private and unassigned characters, unusual spaces, and characters without a glyph. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Z}/gu;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Larger exponents could not be computed. */
const MAX_EXPONENT_DIGITS = 12;
/** Up to this many zeros a number is written without an exponent. */
const MAX_ZEROS = 20;
const INDENT = '  ';
/** Nobody reads more. Each line is indented, so deep nesting makes a small value very long. */
const MAX_SHOWN_CHARS = 4 * 1024 * 1024;

/** The form of the text. */
export interface CanonicalStyle {
  /** For people: several lines, invisible characters escaped. Otherwise for a digest. */
  readonly isShown: boolean;
  /** Whether to keep a member of the outermost object. */
  readonly keeps?: (key: string) => boolean;
}

/**
 * The canonical text of a value. Members with the same name are all kept, in their order: readers differ in
 * which one they use.
 * @param text well-formed JSON text
 * @throws SyntaxError if it is not well-formed
 * @throws RangeError if it is too large to be shown
 */
export function canonicalJson(text: Buffer, style: CanonicalStyle): string {
  return new CanonicalWriter(text, style).write();
}

/** Reads the text once, from the beginning. */
class CanonicalWriter {
  readonly #text: Buffer;
  readonly #style: CanonicalStyle;
  #at = 0;

  constructor(text: Buffer, style: CanonicalStyle) {
    this.#text = text;
    this.#style = style;
  }

  write(): string {
    this.#skipSpace();
    return this.#value('');
  }

  #value(indent: string): string {
    switch (this.#text[this.#at]) {
      case OPEN_BRACE:
        return this.#object(indent);
      case OPEN_BRACKET:
        return this.#array(indent);
      case QUOTE:
        return this.#spell(this.#string());
      default:
        return this.#number();
    }
  }

  #object(indent: string): string {
    const keeps = indent === '' ? this.#style.keeps : undefined;
    const members: [string, string][] = [];
    this.#enter();
    while (this.#at < this.#text.length && this.#text[this.#at] !== CLOSE_BRACE) {
      const key = this.#string();
      this.#moveTo(skipColon(this.#text, this.#at, this.#text.length));
      const value = this.#value(indent + INDENT);
      if (keeps?.(key) !== false) members.push([key, value]);
      this.#leaveItem(CLOSE_BRACE);
    }
    this.#at++;
    members.sort(([left], [right]) => compareCodeUnits(left, right));
    const colon = this.#style.isShown ? ': ' : ':';
    const items = members.map(([key, value]) => this.#spell(key) + colon + value);
    return this.#enclose('{', items, '}', indent);
  }

  #array(indent: string): string {
    const items: string[] = [];
    this.#enter();
    while (this.#at < this.#text.length && this.#text[this.#at] !== CLOSE_BRACKET) {
      items.push(this.#value(indent + INDENT));
      this.#leaveItem(CLOSE_BRACKET);
    }
    this.#at++;
    return this.#enclose('[', items, ']', indent);
  }

  #string(): string {
    const start = this.#at;
    this.#moveTo(skipString(this.#text, start, this.#text.length));
    return decodeString(this.#text, start, this.#at);
  }

  #number(): string {
    const start = this.#at;
    this.#moveTo(skipValue(this.#text, start, this.#text.length, 0));
    return canonicalNumber(this.#text.toString('latin1', start, this.#at));
  }

  #moveTo(at: number): void {
    if (at <= this.#at) throw new SyntaxError('the text is not JSON');
    this.#at = at;
  }

  #enter(): void {
    this.#at++;
    this.#skipSpace();
  }

  /** Goes to the next item, or to the closing bracket. */
  #leaveItem(close: number): void {
    this.#skipSpace();
    if (this.#text[this.#at] === close) return;
    this.#at++;
    this.#skipSpace();
  }

  #skipSpace(): void {
    this.#at = skipSpace(this.#text, this.#at, this.#text.length);
  }

  // Which characters are invisible depends on the Unicode version, and a digest must not.
  #spell(value: string): string {
    return this.#style.isShown ? visibleString(value) : jsonText(value);
  }

  #enclose(open: string, items: readonly string[], close: string, indent: string): string {
    if (items.length === 0) return open + close;
    if (!this.#style.isShown) return open + commaSeparated(items) + close;
    const perItem = indent.length + INDENT.length + ',\n'.length;
    const chars = items.reduce((sum, item) => sum + item.length + perItem, 0);
    if (chars > MAX_SHOWN_CHARS) throw new RangeError('the text is too large to be shown');
    const lines = items.map((item) => `${indent}${INDENT}${item}`).join(',\n');
    return `${open}\n${lines}\n${indent}${close}`;
  }
}

/** A string as JSON, with all invisible characters escaped. */
export function visibleString(value: string): string {
  return jsonText(value).replace(UNSEEN, (unseen) =>
    // By code unit, so that it is valid JSON.
    Array.from({ length: unseen.length }, (_, i) => escapeOf(unseen.charCodeAt(i))).join(''),
  );
}

/** Orders texts by code units, the same way everywhere. */
export function compareCodeUnits(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function escapeOf(codeUnit: number): string {
  return `\\u${codeUnit.toString(16).padStart(4, '0')}`;
}

function withoutZerosInFront(digits: string): string {
  let start = 0;
  while (digits[start] === '0') start++;
  return digits.slice(start);
}

// A regular expression for the end would start again at each zero of a run.
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** 1, 1.0 and 10e-1 become 1. Literals and numbers with huge exponents stay. */
function canonicalNumber(text: string): string {
  const [matched, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (matched === undefined || exponent.length > MAX_EXPONENT_DIGITS) return text;
  const digits = withoutZerosInFront(whole + fraction);
  const significant = withoutZerosBehind(digits);
  if (significant === '') return '0';
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (power >= 0 && power <= MAX_ZEROS) return sign + significant + '0'.repeat(power);
  if (power < 0 && power >= -MAX_ZEROS) {
    const padded = significant.padStart(1 - power, '0');
    return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`;
  }
  return `${sign}${significant}e${power}`;
}
