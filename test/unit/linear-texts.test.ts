/**
 * Whoever sends a text must not make the gateway work for the square of its length. Each function that takes
 * texts of peers is here with the inputs that would show it: doubled three times, it may take twice as long
 * each time. A new function of that kind belongs here too.
 */
import { describe, expect, it } from 'vitest';
import { looksLikeApiKey } from '../../src/auth/api-keys.ts';
import { GatheredBytes } from '../../src/base/gathered-bytes.ts';
import { matchesGlob } from '../../src/base/glob.ts';
import { RecentMap } from '../../src/base/recent-map.ts';
import { Sealer } from '../../src/base/sealer.ts';
import { finished } from '../../src/base/steps.ts';
import { TEXT_LIMITS } from '../../src/base/text-limits.ts';
import { folded, normalForm, withoutParameters } from '../../src/base/uri-reading.ts';
import { allowsUri, deniesUri } from '../../src/base/uri-rules.ts';
import { readCursor } from '../../src/catalog/listing.ts';
import { exposeNames } from '../../src/catalog/names.ts';
import { canonicalJson } from '../../src/catalog/pins/canonical-json.ts';
import { exposeResult } from '../../src/catalog/resource-texts.ts';
import { ResourceTable, unwrapUri } from '../../src/catalog/resource-uris.ts';
import { foundResult } from '../../src/catalog/search/search-results.ts';
import { unwrapCall } from '../../src/catalog/search/search-tools.ts';
import { searchableTool } from '../../src/catalog/search/tool-search.ts';
import { matchesTemplate, parseTemplate, schemeOf } from '../../src/catalog/uri-templates.ts';
import { ContentLengthFraming } from '../../src/jsonrpc/content-length-framing.ts';
import { idKey } from '../../src/jsonrpc/id.ts';
import { LineFraming } from '../../src/jsonrpc/line-framing.ts';
import { editObject, hasDuplicateKeys, lastMember, membersOf } from '../../src/jsonrpc/members.ts';
import { splitArray } from '../../src/jsonrpc/parse.ts';
import { scan } from '../../src/jsonrpc/scan.ts';
import { onOneLine } from '../../src/jsonrpc/splice.ts';
import { SseParser } from '../../src/jsonrpc/sse-parsing.ts';
import { withoutKey } from '../../src/jsonrpc/strip-key.ts';
import { acceptedBy, isJsonBody } from '../../src/listener/request-headers.ts';
import { decodeHeaderValue, encodeHeaderValue } from '../../src/mcp/header-values.ts';
import { readableContent } from '../../src/mcp/old-content.ts';
import { hasValidHeaders } from '../../src/mcp/param-headers.ts';
import { ownerOfOversize } from '../../src/mux/malformed.ts';
import { digestOf } from '../../src/translate/request-state.ts';
import { toolsWithoutExecution } from '../../src/translate/tool-lists.ts';
import { retryAfterMs } from '../../src/upstream/remote/http-endpoint.ts';
import { growthOf } from '../support/growth.ts';

const KIB = 1_024;
const times = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length));
const list = (item: string, length: number): string => times(`${item},`, length).slice(0, -1);
const keys = (length: number, key = 'k'): string =>
  Array.from({ length: length / 8 }, (_, at) => `"${key}${at}":0`).join(',');
const object = (members: string): Buffer => Buffer.from(`{${members}}`);
const request = (params: string): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
const nested = (length: number): unknown => {
  let value: unknown = 'x'.repeat(length);
  for (let level = 0; level < 100; level++) value = [value, level];
  return value;
};

type Row = readonly [
  name: string,
  length: number,
  make: (length: number) => unknown,
  run: (input: never) => unknown,
];

function row<T>(
  name: string,
  length: number,
  make: (length: number) => T,
  run: (input: T) => unknown,
): Row {
  return [name, length, make, run as (input: never) => unknown];
}

/** A stream in pieces of one size. */
function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
}

function lines(chunks: readonly Buffer[]): void {
  const framing = new LineFraming(64 * KIB * KIB, {
    line: () => undefined,
    oversize: () => undefined,
  });
  for (const chunk of chunks) framing.push(chunk);
}

function lengths(chunks: readonly Buffer[]): void {
  const framing = new ContentLengthFraming(64 * KIB * KIB, {
    message: () => undefined,
    oversize: () => undefined,
    broken: () => undefined,
  });
  for (const chunk of chunks) framing.push(chunk);
}

function events(chunks: readonly Buffer[]): void {
  const parser = new SseParser(64 * KIB * KIB, {
    event: () => undefined,
    oversize: () => undefined,
  });
  for (const chunk of chunks) parser.push(chunk);
}

const scanned: readonly Row[] = [
  row('keys', 64 * KIB, (n) => request(`{${keys(n)}}`), scan),
  row('escaped keys', 64 * KIB, (n) => request(`{${keys(n, '\\u006b')}}`), scan),
  row('keys of the message', 64 * KIB, (n) => object(keys(n)), scan),
  row('keys of _meta', 64 * KIB, (n) => request(`{"_meta":{${keys(n)}}}`), scan),
  row(
    'keys of a result',
    64 * KIB,
    (n) => object(`"jsonrpc":"2.0","id":1,"result":{${keys(n)}}`),
    scan,
  ),
  row('one key', 64 * KIB, (n) => request(`{"${times('\\u006e', n)}":1}`), scan),
  row('one string', 64 * KIB, (n) => request(`{"a":"${times('\\n', n)}"}`), scan),
  row('items', 64 * KIB, (n) => request(`{"a":[${list('{}', n)}]}`), scan),
  row('spaces', 64 * KIB, (n) => request(`{${times(' ', n)}}`), scan),
  row('digits of an id', 64 * KIB, (n) => object(`"jsonrpc":"2.0","id":1${times('0', n)}`), scan),
  row('unfinished strings', 64 * KIB, (n) => Buffer.from(times('{"', n)), scan),
];

const members: readonly Row[] = [
  row(
    'membersOf',
    64 * KIB,
    (n) => object(keys(n)),
    (x: Buffer) => membersOf(x, 0, x.length),
  ),
  row(
    'lastMember',
    64 * KIB,
    (n) => object(keys(n)),
    (x: Buffer) => lastMember(x, 0, x.length, 'k'),
  ),
  row(
    'editObject',
    64 * KIB,
    (n) => object(keys(n)),
    (x: Buffer) => editObject(x, 0, x.length, {}),
  ),
  row(
    'hasTwins',
    64 * KIB,
    (n) => object(keys(n)),
    (x: Buffer) => hasDuplicateKeys(x, 0, x.length),
  ),
  row(
    'hasTwins, spaces',
    64 * KIB,
    (n) => Buffer.from(`[${list(`"a"${' '.repeat(99)}`, n)}]`),
    (x: Buffer) => hasDuplicateKeys(x, 0, x.length),
  ),
  row(
    'splitArray',
    64 * KIB,
    (n) => Buffer.from(`[${list('{}', n)}]`),
    (x: Buffer) => splitArray(x),
  ),
  row(
    'withoutKey',
    64 * KIB,
    (n) => object(list('"a":1', n)),
    (x: Buffer) => withoutKey(x, Buffer.from('a')),
  ),
  row('onOneLine', 64 * KIB, (n) => Buffer.from(times('\r\n', n)), onOneLine),
  row('idKey', 64 * KIB, (n) => Buffer.from(`"${times('\\u0061', n)}"`), idKey),
  row(
    'ownerOfOversize',
    16 * KIB,
    (n) => object(keys(n)),
    (x: Buffer) => ownerOfOversize(x, x),
  ),
];

const framing: readonly Row[] = [
  row('lines', 64 * KIB, (n) => [Buffer.from(times('{}\n', n))], lines),
  row('empty lines', 64 * KIB, (n) => [Buffer.from(times('\n', n))], lines),
  row('a line in small pieces', 16 * KIB, (n) => pieces(Buffer.alloc(n, 'a'), 3), lines),
  row(
    'messages with a length',
    64 * KIB,
    (n) => [Buffer.from(times('Content-Length: 2\r\n\r\n{}', n))],
    lengths,
  ),
  row(
    'a message with a length in small pieces',
    16 * KIB,
    (n) => pieces(Buffer.from(`Content-Length: ${n}\r\n\r\n${'a'.repeat(n)}`), 7),
    lengths,
  ),
  row('events', 64 * KIB, (n) => [Buffer.from(times('data: {}\n\n', n))], events),
  row('lines of one event', 64 * KIB, (n) => [Buffer.from(times('data: a\r', n))], events),
  row(
    'an event in small pieces',
    16 * KIB,
    (n) => pieces(Buffer.from(`data: ${'a'.repeat(n)}`), 3),
    events,
  ),
  row(
    'gathered bytes',
    16 * KIB,
    (n) => pieces(Buffer.alloc(n), 2),
    (x: readonly Buffer[]) => {
      const bytes = new GatheredBytes();
      for (const one of x) bytes.push(one);
      bytes.take();
    },
  ),
];

const URI = TEXT_LIMITS.uri / 8;
/** Many times, as a client could ask: one alone is over at once. */
function askedOften(uri: string): void {
  for (let at = 0; at < 20; at++) {
    // Another one each time, since the last one is known.
    allowsUri(['file:///data/*', '*a*b*c'], `${uri}${at}`);
    deniesUri(['file:///secret/*', '*.key'], `${uri}${at}`);
  }
}
const uris: readonly Row[] = Object.entries({
  accents: '\u0344\u0323',
  'escaped accents': '%CD%84%CC%A3',
  'accents on letters': `a${'\u0323'.repeat(29)}`,
  escapes: '%41',
  'escapes of escapes': '%2525',
  percents: '%',
  slashes: 'a/',
  parameters: 'a;b/',
  dots: '.',
  wide: '\ufdfa',
  'full-width letters': '\uff41',
}).map(([name, piece]) =>
  row(
    `a URI with ${name}`,
    URI,
    (n) => `file:///data/${times(piece, n / 2).slice(0, n - 40)}`,
    askedOften,
  ),
);

const texts: readonly Row[] = [
  ...uris,
  row(
    'a URI with accents, of any length',
    16 * KIB,
    (n) => `file:///data/a${times('\u0344\u0323', n)}`,
    (x: string) => allowsUri(['*'], x),
  ),
  row('normalForm', 16 * KIB, (n) => times('%41/;a', n), normalForm),
  row('folded', 16 * KIB, (n) => times('\uff0e', n), folded),
  row('withoutParameters', 16 * KIB, (n) => times(';/', n), withoutParameters),
  row(
    'matchesGlob',
    16 * KIB,
    (n) => times('ab', n),
    (x: string) => matchesGlob('*a*b*c', x),
  ),
  row('schemeOf', 64 * KIB, (n) => times('a', n), schemeOf),
  row(
    'unwrapUri',
    64 * KIB,
    (n) => `${times('A', n)}+x`,
    (x: string) => unwrapUri(new Set(['a']), x),
  ),
  row(
    'matchesTemplate',
    512,
    (n) => times('a/', n),
    (x: string) =>
      matchesTemplate(
        parseTemplate('x:{a}/{b}/{+c}/{d}') ?? { parts: [], leastChars: 0 },
        `x:${x}`,
      ),
  ),
  row('parseTemplate', 256, (n) => times('{a}/', n), parseTemplate),
  row(
    'a table of URIs',
    1_000,
    (n) => Array.from({ length: n }, (_, at) => `x:${at}`),
    (x: string[]) => {
      const member = { hasResources: true, templates: ['x:{a}'] };
      const table = finished(
        ResourceTable.of([
          { ...member, key: 'a', uris: x },
          { ...member, key: 'b', uris: x },
        ]),
      );
      for (const uri of x) table.exposed('a', uri);
    },
  ),
  row(
    'names that collide',
    500,
    (n) => Array.from({ length: n }, (_, at) => `${'a'.repeat(70)}${at}`),
    (x: string[]) =>
      finished(
        exposeNames(
          [
            { key: 'a', names: x },
            { key: 'b', names: x },
          ],
          { prefix: 'always', separator: '__' },
        ),
      ),
  ),
  row(
    'entries of a RecentMap that are used in turn',
    2_500,
    (n) => Array.from({ length: n }, (_, at) => `k${at}`),
    (x: string[]) => {
      const map = new RecentMap<string, string>(x.length);
      for (const key of x) map.set(key, key);
      for (const key of x) map.get(key);
      for (const key of x) map.set(`${key} new`, key);
    },
  ),
  row('readCursor', 64 * KIB, (n) => times('A', n), readCursor),
  row(
    'canonicalJson, zeros',
    16 * KIB,
    (n) => Buffer.from(`1${times('0', n)}1`),
    (x: Buffer) => canonicalJson(x, { isShown: false }),
  ),
  row(
    'canonicalJson, fractions',
    16 * KIB,
    (n) => Buffer.from(`0.${times('0', n)}1`),
    (x: Buffer) => canonicalJson(x, { isShown: false }),
  ),
  row(
    'canonicalJson, keys',
    16 * KIB,
    (n) => object(keys(n)),
    (x: Buffer) => canonicalJson(x, { isShown: false }),
  ),
  row(
    'canonicalJson, levels',
    16 * KIB,
    (n) => Buffer.from(JSON.stringify(nested(n))),
    (x: Buffer) => canonicalJson(x, { isShown: false }),
  ),
  row(
    'digestOf',
    16 * KIB,
    (n) => ({ arguments: nested(n) }),
    (x: object) => digestOf('tools/call', x),
  ),
  row(
    'Sealer.open',
    64 * KIB,
    (n) => `v1${times('.', n)}`,
    (x: string) => new Sealer('v1', []).open(x),
  ),
  row(
    'searchableTool',
    16 * KIB,
    (n) => object(`"description":"${times('\\t', n)}"`),
    (x: Buffer) => searchableTool('a', 'b', x),
  ),
  row(
    'foundResult',
    16 * KIB,
    (n) => times(' \t', n),
    (x: string) =>
      foundResult(
        {
          tools: [{ name: 'a', title: '', description: `a${x}b`, argumentNames: [], server: 's' }],
          matches: 1,
        },
        [],
      ),
  ),
  row(
    'unwrapCall',
    16 * KIB,
    (n) => object(`"arguments":{"name":"a","arguments":{${keys(n)}}}`),
    unwrapCall,
  ),
  row(
    'exposeResult',
    16 * KIB,
    (n) => object(`"contents":[${list('{"uri":"x:a"}', n)}]`),
    (x: Buffer) => exposeResult('resources/read', x, (uri) => `a+${uri}`),
  ),
  row(
    'toolsWithoutExecution',
    16 * KIB,
    (n) => scan(object(`"result":{"tools":[${list('{"execution":{}}', n)}]}`)),
    toolsWithoutExecution,
  ),
  row(
    'readableContent',
    16 * KIB,
    (n) => object(`"content":[${list('{"type":"resource_link","uri":"x:a"}', n)}]`),
    (x: Buffer) => readableContent(x, 0, x.length, '2024-11-05'),
  ),
  row(
    'hasValidHeaders',
    2_000,
    (n) => ({
      properties: Object.fromEntries(
        Array.from({ length: n }, (_, at) => [
          `a${at}`,
          { type: 'string', 'x-mcp-header': `A${at}` },
        ]),
      ),
    }),
    hasValidHeaders,
  ),
  row('encodeHeaderValue', 64 * KIB, (n) => times(' é', n), encodeHeaderValue),
  row('decodeHeaderValue', 64 * KIB, (n) => `=?base64?${times('A', n)}?=`, decodeHeaderValue),
  row('acceptedBy', 16 * KIB, (n) => times(';q=0.0000 ', n), acceptedBy),
  row(
    'isJsonBody',
    16 * KIB,
    (n) => `application/json${times(' ', n)}`,
    (x: string) => isJsonBody(x, undefined),
  ),
  row('looksLikeApiKey', 64 * KIB, (n) => `gw_${times('a', n)}`, looksLikeApiKey),
  row('retryAfterMs', 16 * KIB, (n) => `Mon, ${times('1 ', n)}`, retryAfterMs),
];

describe.each([
  ['scan', scanned],
  ['members', members],
  ['framing', framing],
  ['texts', texts],
])('the work of %s', (_group, rows) => {
  it.each(rows)('grows with its input and no faster: %s', (_name, length, make, run) => {
    expect(growthOf(length, make, run as (input: unknown) => unknown)).toBeLessThan(3);
  });
});

it('is told apart from work that grows with the square', () => {
  const trailing = (text: string): string => text.replace(/0+$/, '');
  expect(growthOf(2 * KIB, (n) => `${times('0', n)}1`, trailing, 1)).toBeGreaterThan(3);
});
