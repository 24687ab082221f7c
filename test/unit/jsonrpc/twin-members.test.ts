// Members that decide where a message goes may not stand twice, nor in a spelling that a lenient
// parser takes for them (reliability.md C01). Each of these once passed as a valid message.
import { expect, test } from 'vitest';
import { scan } from '../../../src/jsonrpc/scan.ts';

const escaped = (text: string): string =>
  [...text].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('');

test.for([
  '{"jsonrpc":"2.0","id":1,"method":"a","jsonrpc":"2.0"}',
  '{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"a"}',
  '{"jsonrpc":"2.0","id":1,"method":"","method":"tools/call"}',
  `{"jsonrpc":"2.0","id":1,"method":"a","params":{"${escaped('PROGRESSTOKEN')}":1}}`,
  `{"jsonrpc":"2.0","id":1,"method":"a","params":{"name\\u0000${'x'.repeat(60)}":1}}`,
  `{"jsonrpc":"2.0","id":1,"method":"a","Method\\u0000${'x'.repeat(60)}":"b"}`,
])('is not valid: %s', (text) => {
  const { kind, fault } = scan(Buffer.from(text));
  expect(kind).toBe('invalid');
  expect(fault).toMatch(/duplicate|method/);
});

test('a long member that is nothing else is fine', () => {
  const text = `{"jsonrpc":"2.0","id":1,"method":"a","x${'é'.repeat(60)}":1,"y\\u0000${'x'.repeat(60)}":1}`;
  expect(scan(Buffer.from(text)).kind).toBe('request');
});
