// Splicing: an id and a token are replaced, and nothing else of the message changes by one byte
// (docs/architecture.md#bytes-not-objects, docs/reliability.md#c03).
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scan } from '../../src/jsonrpc/scan.ts';
import { onOneLine, replaceSpan, replaceTwoSpans, withValue } from '../../src/jsonrpc/splice.ts';
import { runs } from '../support/runs.ts';
import { anyText, type Member, member, numberText, objectOf, stringText } from './json-texts.ts';

const RUNS = { numRuns: runs(3_000) };
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

/** Values that one of them may be replaced by another. */
const VALUES = [
  ['idStart', 'idEnd'],
  ['nameStart', 'nameEnd'],
  ['uriStart', 'uriEnd'],
  ['tokenStart', 'tokenEnd'],
  ['levelStart', 'levelEnd'],
  ['stateStart', 'stateEnd'],
  ['claimStart', 'claimEnd'],
] as const;

const CLAIM = 'io.modelcontextprotocol/protocolVersion';
const named = (name: string): fc.Arbitrary<Member> => member(fc.constant(name), id);

/** The same in another order. */
function turned<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

/** A request with every member that the scanner notes, in any order. */
const requestsOfAllMembers = fc
  .tuple(
    fc.tuple(named('progressToken'), named(CLAIM)),
    fc.tuple(named('name'), named('uri'), named('level'), named('requestState'), named('id')),
    named('id'),
    fc.nat(1_000),
  )
  .map(([inMeta, inParams, idMember, turn]) => {
    const meta = { key: '_meta', keyText: '"_meta"', value: objectOf(inMeta, '') };
    const params = objectOf(turned([...inParams, meta], turn), ' ');
    const written = (key: string, text: string): Member => ({
      key,
      keyText: `"${key}"`,
      value: { text, value: undefined },
    });
    const message = [
      written('jsonrpc', '"2.0"'),
      written('method', '"tools/call"'),
      written('params', params.text),
      idMember,
    ];
    return Buffer.from(objectOf(turned(message, turn >> 3), '').text);
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

  test('a message with another value is what a scan of its text gives', () => {
    fc.assert(
      fc.property(requestsOfAllMembers, id, fc.nat(VALUES.length - 1), (bytes, value, which) => {
        const frame = scan(bytes);
        const [from, to] = VALUES[which] ?? VALUES[0];
        const replaced = withValue(frame, frame[from], frame[to], Buffer.from(value.text));
        expect(replaced).toEqual(scan(replaced.bytes));
        expect(replaced.slice(replaced[from], replaced[to])?.toString()).toBe(value.text);
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
