// Splicing: an id and a token are replaced, and nothing else of the message changes by one byte
// (design.md 1.3, reliability.md C03).
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scan } from '../../src/jsonrpc/scan.ts';
import { onOneLine, replaceSpan, replaceTwoSpans } from '../../src/jsonrpc/splice.ts';
import { anyText, member, numberText, objectOf, stringText } from './json-texts.ts';

const RUNS = { numRuns: 3_000 };
const key = stringText(fc.string({ maxLength: 6 }));
const id = fc.oneof(
  key,
  fc.integer().map((value) => ({ text: String(value), value })),
);
const otherKeys = fc.string({ maxLength: 6 }).map((text) => `x-${text}`);

/** A request with an id, a progress token and members that nobody knows, in any order. */
const requests = fc
  .tuple(
    member(fc.constant('id'), id),
    member(fc.constant('progressToken'), fc.oneof(key, numberText)),
    member(otherKeys, anyText),
    member(fc.constant('arguments'), anyText),
    fc.constantFrom('', ' ', '\n', '\r\n'),
    fc.nat(23),
  )
  .map(([idMember, token, other, args, gap, turn]) => {
    const meta = objectOf([other, token], gap);
    const params = objectOf([args, { key: '_meta', keyText: '"_meta"', value: meta }, other], gap);
    const members = [
      { key: 'jsonrpc', keyText: '"jsonrpc"', value: { text: '"2.0"', value: '2.0' } },
      idMember,
      { key: 'method', keyText: '"method"', value: { text: '"tools/call"', value: 'tools/call' } },
      { key: 'params', keyText: '"params"', value: params },
    ];
    const at = turn % 4;
    return Buffer.from(objectOf([...members.slice(at), ...members.slice(0, at)], gap).text);
  });

describe('splice', () => {
  test('what was spliced in and out again is the message, byte for byte', () => {
    fc.assert(
      fc.property(requests, id, id, (bytes, newId, newToken) => {
        const frame = scan(bytes);
        expect(frame.kind).toBe('request');
        const spliced = replaceTwoSpans(
          bytes,
          [frame.idStart, frame.idEnd, Buffer.from(newId.text)],
          [frame.tokenStart, frame.tokenEnd, Buffer.from(newToken.text)],
        );
        const there = scan(spliced);
        expect(there.idBytes?.toString()).toBe(newId.text);
        expect(there.slice(there.tokenStart, there.tokenEnd)?.toString()).toBe(newToken.text);
        const oldToken = frame.slice(frame.tokenStart, frame.tokenEnd) ?? Buffer.alloc(0);
        const back = replaceTwoSpans(
          spliced,
          [there.tokenStart, there.tokenEnd, oldToken],
          [there.idStart, there.idEnd, frame.idBytes ?? Buffer.alloc(0)],
        );
        expect(back.equals(bytes)).toBe(true);
      }),
      RUNS,
    );
  });

  test('what is not replaced stays where it was', () => {
    fc.assert(
      fc.property(requests, id, (bytes, newId) => {
        const { idStart, idEnd } = scan(bytes);
        const spliced = replaceSpan(bytes, idStart, idEnd, Buffer.from(newId.text));
        const expected = `${bytes.toString('latin1', 0, idStart)}${Buffer.from(newId.text).toString('latin1')}${bytes.toString('latin1', idEnd)}`;
        expect(spliced.toString('latin1')).toBe(expected);
      }),
      RUNS,
    );
  });

  test('a message on one line means the same, and only line breaks changed', () => {
    fc.assert(
      fc.property(requests, (bytes) => {
        const line = onOneLine(bytes);
        expect(line.includes(0x0a) || line.includes(0x0d)).toBe(false);
        expect(line.length).toBe(bytes.length);
        expect(JSON.parse(line.toString())).toEqual(JSON.parse(bytes.toString()));
        const changed = [...line].filter((byte, at) => byte !== bytes[at]);
        expect(changed.every((byte) => byte === 0x20)).toBe(true);
      }),
      RUNS,
    );
  });
});
