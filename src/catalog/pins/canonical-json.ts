// One text for all texts that mean the same JSON value: members sorted, numbers and strings in one
// spelling, nothing taken through JavaScript numbers, so that 9007199254740993 stays itself. What an
// eye can't see in a string is escaped: texts of this kind are made to be looked at.
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

/** Control, format, private and unassigned characters, spaces that are none, what fonts leave out. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Z}/gu;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Beyond, an exponent could no longer be calculated with. */
const MAX_EXPONENT_DIGITS = 12;
/** Up to here a number is written out. */
const MAX_ZEROS = 20;
const INDENT = '  ';
/** Nobody reads more; deep nesting makes much of little, since each line is indented. */
const MAX_SHOWN_CHARS = 4 * 1024 * 1024;

/** Which spelling is wanted. */
export interface CanonicalStyle {
  /** To be looked at: on several lines, unseen characters escaped. Otherwise to be digested. */
  readonly isShown: boolean;
  /** Whether a member of the outermost object stays. */
  readonly keeps?: (key: string) => boolean;
}

/**
 * The canonical text of a value. Of members with one name all stay, in their order: which of them
 * counts is for each reader to say.
 * @param text well-formed JSON text
 * @throws SyntaxError when it is not
 * @throws RangeError when it is too large to be shown
 */
export function canonicalJson(text: Buffer, style: CanonicalStyle): string {
  return new CanonicalWriter(text, style).write();
}

/** Reads the text once, from the front. */
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

  /** To the next item, or to the bracket that closes. */
  #leaveItem(close: number): void {
    this.#skipSpace();
    if (this.#text[this.#at] === close) return;
    this.#at++;
    this.#skipSpace();
  }

  #skipSpace(): void {
    this.#at = skipSpace(this.#text, this.#at, this.#text.length);
  }

  // What can't be seen depends on the version of Unicode, and no digest may.
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

/** A string as JSON, with escapes for all that can't be seen. */
export function visibleString(value: string): string {
  return jsonText(value).replace(UNSEEN, (unseen) =>
    // By code unit, so that it is JSON.
    Array.from({ length: unseen.length }, (_, i) => escapeOf(unseen.charCodeAt(i))).join(''),
  );
}

/** Orders texts the same way everywhere. */
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

// A regular expression for the end would begin anew at each zero of a run.
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** 1, 1.0, 10e-1 -> 1. Literals and what is too large to calculate with stay as they are. */
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
