// Members that decide where a message goes may not stand twice, nor in a spelling that a lenient
// parser takes for them (docs/reliability.md#c01). Each of these once passed as a valid message.
import { expect, test } from 'vitest';
import { hasDuplicateKeys } from '../../../src/jsonrpc/members.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';

const escaped = (text: string): string =>
  [...text].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('');

test.for([
  '{"jsonrpc":"2.0","id":1,"method":"a","jsonrpc":"2.0"}',
  '{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"a"}',
  '{"jsonrpc":"2.0","id":1,"method":"","method":"tools/call"}',
  `{"jsonrpc":"2.0","id":1,"method":"a","params":{"${escaped('PROGRESSTOKEN')}":1}}`,
  `{"jsonrpc":"2.0","id":1,"method":"a","params":{"name\\u0000${'x'.repeat(60)}":1}}`,
  '{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":1,"ProgressToken":2}}}',
  '{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken\\u0000":1}}}',
  `{"jsonrpc":"2.0","id":1,"method":"a","Method\\u0000${'x'.repeat(60)}":"b"}`,
])('is not valid: %s', (text) => {
  const { kind, fault } = scan(Buffer.from(text));
  expect(kind).toBe('invalid');
  expect(fault).toMatch(/duplicate|method/);
});

const TWICE =
  'name _meta uri requestId progressToken progress level inputResponses requestState id arguments ' +
  'cursor ref argument context reason data taskId task notifications elicitationId';

test.for(TWICE.split(' '))('is not valid with params.%s twice', (key) => {
  const text = (members: string): Buffer =>
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"a","params":{${members},"x":1,"x":2}}`);
  expect(scan(text(`"${key}":1`)).kind).toBe('request');
  for (const other of [key, escaped(key)]) {
    expect(scan(text(`"${key}":1,"${other}":2`)).fault).toBe('duplicate');
  }
});

test.for([
  'protocolVersion',
  'clientInfo',
  'clientCapabilities',
  'logLevel',
  'subscriptionId',
  'related-task',
])('is not valid with params._meta["io.modelcontextprotocol/%s"] twice', (key) => {
  const text = (members: string): Buffer =>
    Buffer.from(
      `{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{${members},"x":1,"x":2}}}`,
    );
  const member = `"io.modelcontextprotocol/${key}":`;
  expect(scan(text(`${member}1`)).kind).toBe('request');
  expect(scan(text(`${member}1,${member}2`)).fault).toBe('duplicate');
});

test('a long member that is nothing else is fine', () => {
  const text = `{"jsonrpc":"2.0","id":1,"method":"a","x${'é'.repeat(60)}":1,"y\\u0000${'x'.repeat(60)}":1}`;
  expect(scan(Buffer.from(text)).kind).toBe('request');
});

test.for([
  ['{"a":1,"a":2}', true],
  ['[{"b":{"a":1,"c":"a","d":["a"]}}]', false],
  ['{"a":{"a":{"a":1}},"b":"a:"}', false],
  ['[[[{"x":[{"y":1, "\\u0079" : 2}]}]]]', true],
  ['"text"', false],
] as const)('two members of one key, anywhere in %s: %s', ([text, expected]) => {
  expect(hasDuplicateKeys(Buffer.from(text), 0, text.length)).toBe(expected);
});
