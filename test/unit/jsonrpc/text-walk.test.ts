// Large messages are checked in steps, over several turns, and read as they would be at once.
import { describe, expect, it } from 'vitest';
import { TurnQuota } from '../../../src/base/turns.ts';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { LineFraming } from '../../../src/jsonrpc/line-framing.ts';
import { editObject, withEdited } from '../../../src/jsonrpc/members.ts';
import { errorCodeOf, parseError, splitArray } from '../../../src/jsonrpc/parse.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { resultMessage } from '../../../src/jsonrpc/serialize.ts';
import { withOwnId } from '../../../src/jsonrpc/splice.ts';
import {
  copyText,
  LARGE_TEXT,
  STEP_BYTES,
  skipMember,
  TextWalk,
  walkedText,
} from '../../../src/jsonrpc/text-walk.ts';
import { legacyRequest, withParams } from '../../../src/translate/request-text.ts';
import { legacyResult, ModernResultEncoder } from '../../../src/translate/result-text.ts';

const MIB = 1024 * 1024;

/** Some text again and again, of about so many bytes. */
const many = (text: string, bytes = 2 * MIB): string => text.repeat(Math.ceil(bytes / text.length));
const result = (text: string): Buffer => Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${text}}`);

/** Walks to the end. @returns how many steps it took */
function walk(bytes: Buffer): number {
  const one = new TextWalk(bytes);
  for (let steps = 1; ; steps++) if (one.step()) return steps;
}

/** What a scan noted; of a text that is not well-formed only what is wrong with it counts. */
function noted({ bytes: _, ends: __, ...members }: Frame): object {
  const { kind, fault, idStart } = members;
  return fault === 'json' || fault === 'depth' ? { kind, fault, idStart } : members;
}

const TEXTS: readonly (readonly [string, Buffer])[] = [
  ['empty objects', result(`{"content":[${many('{},')}{}]}`)],
  ['numbers with spaces', result(`{"content":[${many(' 1 ,')} 1 ]}`)],
  ['nested arrays', result(`{"a":[${many(`${'['.repeat(200)}${']'.repeat(200)},`)}0]}`)],
  ['a string of escapes', result(`{"content":[{"type":"text","text":"${many('\\u0041\\n')}"}]}`)],
  ['a string as a member', result(`{"content":"${many('\\\\\\"é')}","_meta":{"a":1}}`)],
  ['members behind large ones', result(`{"content":[${many('1,')}1],"_meta":{"b":[{}]}}`)],
  [
    'an error',
    Buffer.from(`{"jsonrpc":"2.0","id":"x","error":{"code":-1,"data":[${many('1,')}1]}}`),
  ],
  [
    'arguments',
    Buffer.from(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{"a":[${many('[],')}0]},"_meta":{"progressToken":7}}}`,
    ),
  ],
  ['a batch', Buffer.from(`[${many('{"a":1},')}{}]`)],
  ['text behind the message', Buffer.from(`${result(`{"a":[${many('1,')}1]}`)} x`)],
  ['a comma too many', result(`{"a":[${many('1,')}]}`)],
  ['a bracket of the other kind', result(`{"a":[${many('1,')}1}}`)],
  ['a key that is none', result(`{"a":[${many('1,')}1],b:1}`)],
  ['a string without an end', result(`{"a":"${many('a')}`)],
  ['a wrong escape far back', result(`{"a":"${many('a')}\\x"}`)],
  [
    'arrays nested too deeply',
    result(`{"b":[${many('1,')}1],"a":${'['.repeat(300)}${']'.repeat(300)}}`),
  ],
  [
    'bytes that are no UTF-8',
    Buffer.concat([result(`{"a":"${many('a')}`), Buffer.from([0xff]), Buffer.from('"}}')]),
  ],
  ['no JSON', Buffer.from(many('log line '))],
];

describe('a walk over a large message', () => {
  it.each(TEXTS)('lets a scan say the same of %s as without it', (_, text) => {
    const alone = scan(Buffer.from(text));
    walk(text);
    expect(noted(scan(text))).toEqual(noted(alone));
  });

  it.each(TEXTS.slice(0, 8))('takes steps of some hundred kilobytes over %s', (_, text) => {
    expect(walk(text)).toBeGreaterThanOrEqual(Math.floor(text.length / STEP_BYTES / 1.1));
  });

  it('lets a scan jump over what it has walked over', () => {
    const text = result(`{"content":[${many('1,')}1]}`);
    walk(text);
    const frame = scan(text);
    // What stands there now is not looked at.
    text.fill('?', frame.contentStart + 1, frame.contentEnd - 1);
    expect(skipMember(frame, frame.contentStart, 2)).toBe(frame.contentEnd);
    expect(scan(text).kind).toBe('response');
  });

  it('lets a scan stop among more members of a result than anybody sends', () => {
    const text = result(`{${many('"a":1,')}"content":[]}`);
    walk(text);
    expect(scan(text)).toMatchObject({
      kind: 'response',
      resultEnd: text.length - 1,
      contentStart: -1,
    });
  });

  it('is not kept of small messages', () => {
    const text = result('{}');
    walk(text);
    expect(walkedText(text)).toBeUndefined();
  });
});

describe('what was made of a text that was walked over', () => {
  const text = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","_meta":{"a":1,"progressToken":7},"arguments":{"a":[${many('[],')}0]},"requestState":"s"}}`,
  );
  walk(text);
  const request = scan(text);
  const { paramsStart, paramsEnd, metaStart, metaEnd } = request;
  const answer = result(`{"_meta":{},"content":[${many('[],')}0],"resultType":"complete"}`);
  walk(answer);
  const response = scan(answer);
  const dress = new ModernResultEncoder({ name: 's', version: '1' });
  const batch = Buffer.from(`[${String(text)}, ${String(text)}]`);
  walk(batch);

  const TEXTS: readonly (readonly [string, Buffer])[] = [
    ['a request of the other era', legacyRequest(request).bytes],
    [
      'a request with other members',
      withEdited(request, metaStart, metaEnd, { remove: (key) => key === 'a' }).bytes,
    ],
    ['a request with more params', withParams(request, new Map([['b', Buffer.from('{}')]])).bytes],
    ['a request with another id', withOwnId(request, 123_456)],
    ['a copy', copyText(text)],
    ['params alone', editObject(text, paramsStart, paramsEnd, { remove: (key) => key === 'name' })],
    ['an answer of the other era', resultMessage(Buffer.from('1'), dress.modern(response, true))],
    ['a result of the other era', resultMessage(Buffer.from('1'), legacyResult(response))],
    ...splitArray(batch).map((one): [string, Buffer] => ['one of a batch', copyText(one, batch)]),
  ];

  it.each(TEXTS)('%s has the same ends', (_, made) => {
    const again = Buffer.from(made);
    walk(again);
    const [ends, known] = [made, again].map((one) => walkedText(one)?.ends);
    const wrong: number[] = [];
    let large = 0;
    for (let at = 0; at < made.length; at++) {
      const end = ends?.get(at);
      if (end === undefined) continue;
      if (end !== (known?.get(at) ?? made.length)) wrong.push(at);
      if (end - at > MIB) large++;
    }
    expect(wrong).toEqual([]);
    // The large array, and what it stands in: but that is an object that is read anyway.
    expect(large).toBeGreaterThanOrEqual(1);
    expect(noted(scan(made))).toEqual(noted(scan(again)));
  });

  it('knows nothing of other texts', () => {
    expect(walkedText(editObject(Buffer.from(text), 0, text.length, {}))).toBeUndefined();
  });
});

describe('a large line', () => {
  const line = Buffer.concat([result(`{"a":[${many('1,', 4 * MIB)}1]}`), Buffer.from('\n')]);

  /** The lines that are handed on, and how often reading went on until the last was. */
  function read(chunk: Buffer): { lines: Buffer[]; turns: number } {
    const lines: Buffer[] = [];
    const quota = new TurnQuota(Number.POSITIVE_INFINITY);
    const framing = new LineFraming(
      16 * MIB,
      { line: (one) => lines.push(one), oversize: () => {} },
      quota,
    );
    let turns = 0;
    for (let isDone = framing.push(chunk); !isDone; isDone = framing.goOn()) {
      expect(framing.heldBytes).toBeGreaterThan(LARGE_TEXT);
      turns++;
    }
    return { lines, turns };
  }

  it('is walked over before it is handed on, while those behind it wait', () => {
    const { lines, turns } = read(Buffer.concat([line, Buffer.from('{"id":2}\n')]));
    expect(turns).toBeGreaterThanOrEqual((4 * MIB) / STEP_BYTES);
    expect(lines.map((one) => one.length)).toEqual([line.length - 1, 8]);
    expect(walkedText(lines[0] as Buffer)?.fault).toBeUndefined();
    expect(walkedText(lines[0] as Buffer)?.ends.get(0)).toBe(line.length - 1);
  });

  it('is not kept waiting when it is small', () => {
    expect(read(Buffer.from('{"id":1}\n')).turns).toBe(0);
  });
});

describe('a large error', () => {
  it('is read for its code and message alone', () => {
    const data = many('"k":1,');
    const frame = scan(
      Buffer.from(
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{${data}"a":1},"message":"no"}}`,
      ),
    );
    expect(parseError(frame)).toEqual({ code: -32000, message: 'no' });
    expect(errorCodeOf(frame)).toBe(-32000);
  });

  it('has no code where that is no short number', () => {
    const frame = scan(
      Buffer.from(`{"jsonrpc":"2.0","id":1,"error":{"code":${many('1', 70_000)},"message":"no"}}`),
    );
    expect(errorCodeOf(frame)).toBeUndefined();
  });
});
