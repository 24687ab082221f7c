// Ids with their type: 1 and "1" are different, 0 and "" are ids, and a peer's id is echoed byte for byte
// (docs/protocol.md#messages). Ids are compared by value and type, never by truthiness.
import { decodeString, MINUS, QUOTE } from './json-text.ts';

/**
 * A map key for an id or progress token.
 * @param bytes its JSON text: a string or a number
 */
export function idKey(bytes: Buffer): string {
  if (bytes[0] === QUOTE) return `s${decodeString(bytes, 0, bytes.length)}`;
  const text = bytes.toString('latin1');
  if (/^(0|-?[1-9]\d*)$/.test(text)) return `n${text}`;
  return `n${Number(text)}`;
}

/** Whether a value is an id: a string, or a number without a fraction (docs/protocol.md#messages). */
export function isId(bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start] as number;
  if (first === QUOTE) return true;
  for (let at = start; at < end; at++) {
    if (!isDigit(bytes[at]) && !(at === start && first === MINUS)) {
      return isIntegral(bytes, start, end);
    }
  }
  return true;
}

// `1.0` and `1E2` are integers for every JSON parser with only one type of number.
function isIntegral(bytes: Buffer, start: number, end: number): boolean {
  const isNumber = bytes[start] === MINUS || isDigit(bytes[start]);
  return isNumber && Number.isInteger(Number(bytes.toString('latin1', start, end)));
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Whether two ids are equal for a JSON-RPC peer. */
export function isSameId(a: Buffer, b: Buffer): boolean {
  return a.equals(b) || idKey(a) === idKey(b);
}

/**
 * The integer in a response's id; the gateway's own ids are integers.
 * @returns undefined if it is not a plain non-negative integer: a string "7" is not 7
 */
export function integerId(bytes: Buffer, start: number, end: number): number | undefined {
  if (start < 0 || end - start > 16) return undefined;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return integralId(bytes, start, end);
    value = value * 10 + digit;
  }
  return value;
}

/**
 * The integer of an id that a server has turned into a string: "7" can only come from 7.
 * @returns undefined if it is not such a string
 */
export function stringifiedId(bytes: Buffer, start: number, end: number): number | undefined {
  if (start < 0 || end - start > 32 || bytes[start] !== QUOTE) return undefined;
  const text = decodeString(bytes, start, end).trim();
  const value = /^\d+(?:\.0+)?$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(value) ? value : undefined;
}

// Some runtimes have only floating-point numbers, and write 7 as 7.0.
function integralId(bytes: Buffer, start: number, end: number): number | undefined {
  if (bytes[start] === QUOTE) return undefined;
  const value = Number(bytes.toString('latin1', start, end));
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
