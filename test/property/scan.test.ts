// The scanner against JSON.parse: it must accept exactly what a JSON parser accepts, and must never
// see another message than a parser would (docs/reliability.md#c01, #c03, #c04, #c15).
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Frame } from '../../src/jsonrpc/frame.ts';
import { scan } from '../../src/jsonrpc/scan.ts';
import { runs } from '../support/runs.ts';
import {
  anyText,
  type Member,
  member,
  numberText,
  objectOf,
  objectText,
  stringText,
  type Written,
  type WrittenObject,
} from './json-texts.ts';

const RUNS = { numRuns: runs(4_000) };
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What a careful peer would read; undefined when it is no JSON. */
function parse(bytes: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(decoder.decode(bytes)) as unknown };
  } catch {
    return undefined;
  }
}

const IDS: readonly Written[] = [
  ...['0', '1', '-1', '"1"', '""', '"a:b"', 'null', 'true', '{}', '[1]', '1.0', '1.5', '1E2', '-0'],
  ...['9007199254740993', '1e400', '"__proto__"', '"\\ud800"', '"\\u0031"'],
].map((text) => ({ text, value: JSON.parse(text) as unknown }));

/** The member as it is, in other case, cut at a NUL: what lenient parsers take for the same. */
function spellings(key: string): fc.Arbitrary<string> {
  const others = [key.toUpperCase(), `${key[0]?.toUpperCase()}${key.slice(1)}`, `${key}\0x`];
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(key) },
    { weight: 1, arbitrary: fc.constantFrom(...others, key.replace('s', 'ſ')) },
  );
}

const PLAIN = ['progress', 'level', 'id', 'arguments', 'data', 'cursor'];
const CLAIM = 'io.modelcontextprotocol/protocolVersion';

const text = stringText(fc.string({ maxLength: 8 }));
const token = fc.oneof(text, numberText, anyText);
const meta = objectText(
  fc.oneof(
    member(spellings('progressToken'), token),
    member(fc.constant(CLAIM), text),
    member(fc.string({ maxLength: 4 }), anyText),
  ),
  3,
);
const params = objectText(
  fc.oneof(
    member(spellings('name'), token),
    member(spellings('uri'), token),
    member(spellings('requestId'), token),
    member(spellings('progressToken'), token),
    member(fc.constantFrom(...PLAIN), anyText),
    { weight: 3, arbitrary: member(spellings('_meta'), fc.oneof(meta, anyText)) },
    member(fc.string({ maxLength: 4 }), anyText),
  ),
  5,
);
const id = member(spellings('id'), fc.constantFrom(...IDS));
const name = stringText(fc.stringMatching(/^[!-~]{0,8}$/));
const methodText = fc.oneof({ weight: 12, arbitrary: name }, text, anyText);
const method = member(spellings('method'), methodText);
const someParams = member(spellings('params'), fc.oneof({ weight: 6, arbitrary: params }, anyText));
const version: fc.Arbitrary<Member> = member(
  spellings('jsonrpc'),
  fc.constantFrom(...['"2.0"', '"2.0"', '"2.0"', '"\\u0032.0"', '"1.0"', '2.0'].map(written)),
);
const answer = fc.oneof(member(spellings('result'), anyText), member(spellings('error'), anyText));
const other = member(fc.string({ maxLength: 6 }), anyText);

/** Objects that are messages, or nearly. */
const messages: fc.Arbitrary<WrittenObject> = fc
  .tuple(
    fc.oneof(
      fc.tuple(version, id, method, someParams),
      fc.tuple(version, method, someParams),
      fc.tuple(version, id, answer),
      fc.array(fc.oneof(version, id, method, someParams, answer, other), { maxLength: 6 }),
    ),
    fc.array(fc.oneof({ weight: 4, arbitrary: other }, version, id, method, answer), {
      maxLength: 1,
    }),
    fc.constantFrom('', ' ', '\n'),
    fc.nat(),
  )
  .map(([members, more, gap, turn]) => {
    const all = [...members, ...more];
    const at = all.length === 0 ? 0 : turn % all.length;
    return objectOf([...all.slice(at), ...all.slice(0, at)], gap);
  });

function written(source: string): Written {
  return { text: source, value: JSON.parse(source) as unknown };
}

const TOP = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const ROUTING = ['name', 'uri', '_meta', 'requestId', 'progressToken'];
const FOLDED = [...ROUTING, 'arguments'];

function isDuplicate(key: string, names: readonly string[]): boolean {
  const [folded] = key.toUpperCase().toLowerCase().split('\0', 1);
  return !names.includes(key) && names.some((name) => name.toLowerCase() === folded);
}

function membersOf(value: Written | undefined): readonly Member[] {
  return (value as Partial<WrittenObject> | undefined)?.members ?? [];
}

/** All the values that stand under a key. */
function under(members: readonly Member[], key: string): readonly Written[] {
  return members.filter((one) => one.key === key).map(({ value }) => value);
}

/** Whether another parser could read something else than the scanner. */
function isAmbiguous({ members }: WrittenObject): boolean {
  const inParams = membersOf(under(members, 'params')[0]);
  const metas = under(inParams, '_meta');
  const tokens = [...under(inParams, 'progressToken'), ...metas.flatMap(metaTokens)];
  return (
    members.some(({ key }) => isDuplicate(key, TOP)) ||
    TOP.some((key) => under(members, key).length > 1) ||
    inParams.some(({ key }) => isDuplicate(key, FOLDED)) ||
    [...ROUTING, ...PLAIN].some((key) => under(inParams, key).length > 1) ||
    metas.some((value) => under(membersOf(value), CLAIM).length > 1) ||
    metas.some((value) =>
      membersOf(value).some(({ key }) => isDuplicate(key, ['progressToken'])),
    ) ||
    tokens.length > 1
  );
}

function metaTokens(value: Written): readonly Written[] {
  return under(membersOf(value), 'progressToken');
}

/** What JSON-RPC says that the object is; undefined when it is nothing. */
function kindOf({ members }: WrittenObject): Frame['kind'] | undefined {
  const [name] = under(members, 'method');
  const isAnswer = ['result', 'error'].filter((key) => under(members, key).length > 0).length;
  const [idText] = under(members, 'id');
  const isGoodId = idText === undefined || typeof idText.value === 'string' || isInteger(idText);
  if (under(members, 'jsonrpc')[0]?.value !== '2.0') return undefined;
  if (name === undefined) return isAnswer === 1 ? 'response' : undefined;
  const isName = typeof name.value === 'string' && /^[!-~]+$/.test(name.value);
  if (!isName || isAnswer > 0 || !isGoodId) return undefined;
  const [given] = under(members, 'params');
  if (given !== undefined && !given.text.startsWith('{')) return undefined;
  return idText === undefined ? 'notification' : 'request';
}

function isInteger({ text: source, value }: Written): boolean {
  return typeof value === 'number' && (/^-?\d+$/.test(source) || Number.isInteger(value));
}

describe('scan', () => {
  test('what is JSON to a parser is JSON to the scanner, and nothing else', () => {
    fc.assert(
      fc.property(anyText, ({ text: source }) => {
        expect(scan(Buffer.from(source)).fault).not.toBe('json');
      }),
      RUNS,
    );
    fc.assert(fc.property(mutated(anyText), agreesWithParser), { numRuns: runs(8_000) });
    fc.assert(fc.property(mutated(messages), agreesWithParser), { numRuns: runs(8_000) });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) =>
        agreesWithParser(Buffer.from(bytes)),
      ),
      RUNS,
    );
  });

  test('kind and spans are those of the parsed message', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(messages, (message) => {
        const frame = scan(Buffer.from(message.text));
        const expected = isAmbiguous(message) ? undefined : kindOf(message);
        seen.set(expected ?? 'invalid', (seen.get(expected ?? 'invalid') ?? 0) + 1);
        expect(frame.kind).toBe(expected ?? 'invalid');
        expect(frame.fault === undefined).toBe(expected !== undefined);
        if (expected !== undefined) expectSpans(frame, message);
      }),
      { numRuns: runs(12_000) },
    );
    for (const kind of ['request', 'notification', 'response', 'invalid']) {
      expect(seen.get(kind), kind).toBeGreaterThan(runs(200));
    }
  });

  test('a member that routes, twice or in other spelling, is a fault', () => {
    fc.assert(
      fc.property(messages.filter(isAmbiguous), (message) => {
        expect(scan(Buffer.from(message.text)).fault).toBeDefined();
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('another spelling of a name is found however it is written', () => {
    const NAMES = [...TOP, 'taskId', 'requestState'];
    const spelt = fc.constantFrom(...NAMES).chain((key) =>
      fc
        .tuple(
          fc.array(fc.boolean(), { minLength: key.length, maxLength: key.length }),
          fc.constantFrom('', '\0', '\0tail'),
          fc.nat(),
        )
        .map(([upper, tail, mask]) => {
          const letters = [...key].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter));
          const folded = letters.join('').replace('s', mask % 3 === 0 ? 'ſ' : 's');
          return { key, other: folded + tail };
        })
        .filter(({ key: own, other: spelling }) => own !== spelling),
    );
    fc.assert(
      fc.property(spelt, fc.nat(), ({ key, other: spelling }, mask) => {
        const escaped = [...spelling]
          .map((letter, at) => ((mask >> (at % 16)) & 1 ? unicode(letter) : json(letter)))
          .join('');
        const params = TOP.includes(key) ? '{}' : `{"${escaped}":1}`;
        const extra = TOP.includes(key) ? `,"${escaped}":1` : '';
        const source = `{"jsonrpc":"2.0","id":1,"method":"m","params":${params}${extra}}`;
        expect(scan(Buffer.from(source)).fault, source).toBe('duplicate');
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('nesting is bounded, whatever it is made of', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('[', '{"a":', '[{"id":'),
        fc.integer({ min: 1, max: 600 }),
        (open, depth) => {
          const close = { '[': ']', '{"a":': '}', '[{"id":': '}]' }[open] ?? '';
          const deep = `${open.repeat(depth)}1${close.repeat(depth)}`;
          const levels = depth * (open.length === 7 ? 2 : 1);
          expect(scan(Buffer.from(deep)).fault === 'depth').toBe(levels > 256);
          const inside = `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"x":${deep}}}}`;
          expect(scan(Buffer.from(inside)).fault).toBe(levels + 3 > 256 ? 'depth' : undefined);
        },
      ),
      { numRuns: runs(500) },
    );
    expect(scan(Buffer.from('['.repeat(1_000_000))).fault).toBe('depth');
    expect(scan(Buffer.from('{"a":'.repeat(1_000_000))).fault).toBe('depth');
  });
});

function unicode(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function json(letter: string): string {
  return JSON.stringify(letter).slice(1, -1);
}

function agreesWithParser(bytes: Buffer): void {
  const { fault, idStart } = scan(bytes);
  const parsed = parse(bytes);
  if (fault === 'depth') return;
  expect(fault === 'json').toBe(parsed === undefined);
  if (fault === 'json') expect(idStart).toBe(-1);
  if (parsed === undefined) return;
  expect(fault === 'array').toBe(Array.isArray(parsed.value));
  expect(fault === 'not-object').toBe(typeof parsed.value !== 'object' || parsed.value === null);
}

function expectSpans(frame: Frame, { members }: WrittenObject): void {
  const inParams = membersOf(under(members, 'params')[0]);
  const inMeta = membersOf(under(inParams, '_meta')[0]);
  const isCall = frame.kind !== 'response';
  const [idText] = under(members, 'id');
  const isId = idText !== undefined && (typeof idText.value === 'string' || isInteger(idText));
  const last = (list: readonly Written[]): string | undefined => list.at(-1)?.text;
  const spans: Readonly<Record<string, readonly [number, number, string | undefined]>> = {
    id: [frame.idStart, frame.idEnd, isId ? idText.text : undefined],
    params: [frame.paramsStart, frame.paramsEnd, last(under(members, 'params'))],
    result: [frame.resultStart, frame.resultEnd, last(under(members, 'result'))],
    error: [frame.errorStart, frame.errorEnd, last(under(members, 'error'))],
    name: [frame.nameStart, frame.nameEnd, last(under(inParams, 'name'))],
    uri: [frame.uriStart, frame.uriEnd, last(under(inParams, 'uri'))],
    requestId: [frame.requestIdStart, frame.requestIdEnd, last(under(inParams, 'requestId'))],
    meta: [frame.metaStart, frame.metaEnd, last(under(inParams, '_meta'))],
    progress: [frame.progressStart, frame.progressEnd, last(under(inParams, 'progress'))],
    level: [frame.levelStart, frame.levelEnd, last(under(inParams, 'level'))],
    paramId: [frame.paramIdStart, frame.paramIdEnd, last(under(inParams, 'id'))],
    token: [
      frame.tokenStart,
      frame.tokenEnd,
      last([...under(inParams, 'progressToken'), ...under(inMeta, 'progressToken')]),
    ],
    claim: [
      frame.claimStart,
      frame.claimEnd,
      last(under(inMeta, 'io.modelcontextprotocol/protocolVersion')),
    ],
  };
  for (const [name, [start, end, expected]] of Object.entries(spans)) {
    expect(frame.slice(start, end)?.toString(), name).toBe(expected);
  }
  const [called] = under(members, 'method');
  expect(frame.method).toBe(isCall ? called?.value : '');
}

/** Texts with a few bytes flipped, cut, inserted or doubled. */
function mutated(texts: fc.Arbitrary<Written>): fc.Arbitrary<Buffer> {
  const change = fc.tuple(
    fc.constantFrom('flip', 'cut', 'insert', 'double', 'drop'),
    fc.nat(),
    fc.nat(),
  );
  return fc
    .tuple(texts, fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([{ text: source }, changes]) => {
      let bytes = Buffer.from(source);
      for (const [kind, where, what] of changes) bytes = mutate(bytes, kind, where, what);
      return bytes;
    });
}

const NOISE = Buffer.from('"\\{}[],:0-.eE+tfn \n\t\r\u00e9\u2028\0\x1f', 'utf8');

function mutate(bytes: Buffer, kind: string, where: number, what: number): Buffer<ArrayBuffer> {
  const at = bytes.length === 0 ? 0 : where % bytes.length;
  const rest = bytes.subarray(at);
  switch (kind) {
    case 'flip': {
      const flipped = Buffer.from(bytes);
      if (flipped.length > 0) flipped[at] = (flipped[at] ?? 0) ^ (1 << (what % 8));
      return flipped;
    }
    case 'cut':
      return Buffer.from(bytes.subarray(0, at));
    case 'insert': {
      const noise = NOISE.subarray(what % NOISE.length).subarray(0, 1 + (what % 3));
      return Buffer.concat([bytes.subarray(0, at), noise, rest]);
    }
    case 'double':
      return Buffer.concat([bytes.subarray(0, at), rest.subarray(0, what % 9), rest]);
    default:
      return Buffer.concat([bytes.subarray(0, at), rest.subarray(1 + (what % 3))]);
  }
}
