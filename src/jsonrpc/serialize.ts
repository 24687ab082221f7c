// Makes bytes of objects, for the few messages that Sluice writes itself. Only this file and parse.ts convert
// between JSON of messages and objects.
import type { WireError } from './error.ts';
import { joinText } from './text-walk.ts';

const RESULT_HEAD = Buffer.from('{"jsonrpc":"2.0","id":');
const RESULT_MIDDLE = Buffer.from(',"result":');
const CLOSE = Buffer.from('}');
const NULL = Buffer.from('null');

/** A response with a result. `id` and `result` are JSON text. */
export function resultMessage(id: Uint8Array, result: Buffer): Buffer {
  return joinText([RESULT_HEAD, id, RESULT_MIDDLE, result, CLOSE], result);
}

/** Like `resultMessage`, in pieces, so that a large result need not be copied. */
export function resultParts(id: Uint8Array, result: Buffer): readonly Buffer[] {
  return [Buffer.concat([RESULT_HEAD, id, RESULT_MIDDLE]), result, CLOSE];
}

/** A response with an error. `id` is JSON text; undefined if it could not be read. */
export function errorMessage(id: Uint8Array | undefined, error: WireError): Buffer {
  const tail = Buffer.from(`,"error":${JSON.stringify(error)}}`);
  return Buffer.concat([RESULT_HEAD, id ?? NULL, tail]);
}

/** A request, or a notification if `id` is absent. */
export function callMessage(method: string, params?: unknown, id?: number | string): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
}

/** Any JSON value as bytes. */
export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Any JSON value as text. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** Joins texts with commas. `join` would copy a text once for each level of nesting. */
export function commaSeparated(items: readonly string[]): string {
  let text = '';
  for (const item of items) text += text === '' ? item : `,${item}`;
  return text;
}
