// What a rule or filter about URIs means by one, however it is spelled.
import { expect, it } from 'vitest';
import { allowsUri, spellingsOf } from '../../../src/base/uri-spellings.ts';

it.each([
  'file:///data/../etc/passwd',
  'file:///data/%2e%2e/etc/passwd',
  'file:///data/%252e%252e/etc/passwd',
  'file:///data/.%09./etc/passwd',
  'file:///data/.\t./etc/passwd',
  'file:///data/x%00.txt',
  'file:///data/x\n',
  'file:///data/．．/etc/passwd',
  'file:///data\\..\\etc',
])('C01 %j leads nowhere', (uri) => {
  expect(spellingsOf(uri)).toBeUndefined();
  expect(allowsUri(['*'], uri)).toBe(false);
});

it('with an empty segment, which file systems leave out, leads nowhere', () => {
  for (const uri of ['file:///data//private/a', 'file:///data/%2fprivate/a', 'x:a\\\\b']) {
    expect(spellingsOf(uri), uri).toBeUndefined();
  }
  expect(spellingsOf('https://a.example//b')).toBeDefined();
  expect(spellingsOf('file:///a?next=//b')).toBeDefined();
});

it('C01 is allowed in every spelling or not at all', () => {
  expect(allowsUri(['file:///data/*'], 'file:///data/a%20b')).toBe(true);
  expect(allowsUri(['FILE:///data/*'], 'file:///data/a')).toBe(false);
  // What stands for the escape must stand for what it means.
  expect(allowsUri(['file:///data/*41'], 'file:///data/%41')).toBe(false);
  expect(allowsUri(['file:///data/*41'], 'file:///data/x41')).toBe(true);
});
