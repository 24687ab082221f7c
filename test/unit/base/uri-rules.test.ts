// What a rule or filter about URIs means by one, however it is spelled.
import { describe, expect, it } from 'vitest';
import { TEXT_LIMITS } from '../../../src/base/text-limits.ts';
import { folded, readingOf } from '../../../src/base/uri-reading.ts';
import { allowsUri, deniesUri } from '../../../src/base/uri-rules.ts';

const MARKS = '\u0344\u0323'.repeat(20);

describe('a URI that servers may read in several ways', () => {
  it.each([
    'file:///data/../etc/passwd',
    'file:///data/./a',
    'file:///data/..',
    'file:../etc/passwd',
    'file:///data/..;/etc/passwd',
    'file:///data/..;x=1/etc/passwd',
    'file:///data/.;/a',
    'file:///data/;x/a',
    'file:///data/.. /etc/passwd',
    'file:///data/.\u200c./etc/passwd',
    'file:///data/a?/../../etc/passwd',
    'app://read?path=../etc/passwd',
    'file:///data/%2e%2e/etc/passwd',
    'file:///data/a%2eb',
    'file:///data/%252e%252e/etc/passwd',
    'file:///data/..%3b/etc/passwd',
    'file:///data/a%2fb',
    'file:///data/a%5Cb',
    'file:///data/a%c0%afb',
    'file:///data/a%e9',
    'file:///data/a%u002fb',
    'file:///data/a%%32%66b',
    'file:///data/.%09./etc/passwd',
    'file:///data/.\t./etc/passwd',
    'file:///data/x%00.txt',
    'file:///data/x\n',
    'file:///data/x?y%0d%0az',
    ' file:///data/a',
    'file:///data/a\u00a0',
    'file:///data\\..\\etc',
    'file:///data/a\\b',
    'file:///data/\ud800',
    `file:///data/a${MARKS}`,
    `file:///data/a${encodeURIComponent(MARKS)}`,
  ])('has no reading: %j', (uri) => {
    expect(readingOf(uri)).toBeUndefined();
    expect(allowsUri(['*'], uri)).toBe(false);
    expect(deniesUri(['memo:*'], uri)).toBe(true);
  });

  it.each(
    [...'\uff0f\uff3c\u2215\u2216\u2044\ufe68\u2024\uff0e\ufe52\u29f5\u29f8\u29f9\u2100\u2105'].map(
      (one) => [one],
    ),
  )('has no reading with a character that some take for another: %j', (one) => {
    for (const uri of [
      `file:///data/..${one}etc/passwd`,
      `file:///data/a${one}b`,
      `file:///data/${one}${one}/etc/passwd`,
      `file:///data/a${encodeURIComponent(one)}b`,
    ]) {
      expect(readingOf(uri), uri).toBeUndefined();
      expect(allowsUri(['file:///data/*'], uri), uri).toBe(false);
      expect(deniesUri(['file:///etc/*'], uri), uri).toBe(true);
    }
  });

  it('has no reading with any character that becomes a slash or a backslash', () => {
    for (let code = 0x80; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      const folded = character.normalize('NFKC');
      if (!/[/\\]|^\.\.?$/.test(folded)) continue;
      const uri = folded.startsWith('.') ? `x:/a/${character}/b` : `x:/a/b${character}c`;
      expect(readingOf(uri), `U+${code.toString(16)}`).toBeUndefined();
    }
  });

  it('folds every character that becomes one of ASCII', () => {
    for (let code = 0x80; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      const becomes = character.normalize('NFKC');
      if (becomes === character || !/[./\\;:=&?#%]|^[!-~]+$/.test(becomes)) continue;
      expect(folded(character), `U+${code.toString(16)}`).toBe(becomes);
    }
  });

  it('has none when it is longer than any', () => {
    const uri = `memo:${'a'.repeat(TEXT_LIMITS.uri - 5)}`;
    expect(readingOf(uri)).toBeDefined();
    expect(readingOf(`${uri}a`)).toBeUndefined();
  });

  it('is allowed by its own text alone', () => {
    for (const uri of ['https://a.example/%2F', 'x:a\\b', 'memo:a ', 'x:/..;/a']) {
      expect(allowsUri([uri], uri), uri).toBe(true);
      expect(allowsUri([`${uri}*`], uri), uri).toBe(false);
      expect(deniesUri([uri], uri), uri).toBe(true);
    }
  });
});

describe('a URI that has one reading', () => {
  it.each([
    'https://a.example//b',
    'https://a.example/a?next=%2Fhome&x=a%2e',
    'file:///a?next=//b',
    'file:///data/a b',
    'file:///data/100%',
    'file:///data/.gitignore',
    'file:///data/a...b/c..d',
    'file:///data/Übersicht….md',
    'file:///data/½ 🧑‍💻❤️.md',
    'git://main..dev',
    'grep://?path=./src',
    'data:text/plain;base64,SGk=',
    'postgres://db/public/users;x=1',
    'file:///docs/{+path}{?q}',
    'memo://a',
    '',
  ])('is allowed: %j', (uri) => {
    expect(readingOf(uri)).toBeDefined();
    expect(allowsUri(['*'], uri)).toBe(true);
    expect(deniesUri(['other:*'], uri)).toBe(false);
  });

  it('is the same one with escapes of what needs none, and whatever the case of scheme and host', () => {
    expect(allowsUri(['file:///data/*'], 'file:///data/a%20b')).toBe(true);
    expect(allowsUri(['file:///data/a b'], 'file:///data/a%20b')).toBe(true);
    expect(allowsUri(['file:///data/%C3%A9'], 'file:///data/e\u0301')).toBe(true);
    expect(allowsUri(['FILE:///data/*'], 'file:///data/a')).toBe(true);
    expect(allowsUri(['https://a.example/*'], 'HTTPS://A.example/x')).toBe(true);
    expect(allowsUri(['memo://a/*'], 'memo://A/x')).toBe(false);
    // What stands for the escape must stand for what it means.
    expect(allowsUri(['file:///data/*41'], 'file:///data/%41')).toBe(false);
    expect(allowsUri(['file:///data/*41'], 'file:///data/x41')).toBe(true);
    // A reserved character and its escape are two things (RFC 3986 2.2).
    expect(allowsUri(['x:a+b'], 'x:a%2Bb')).toBe(false);
    expect(allowsUri(['x:a%2Ab'], 'x:a%2ab')).toBe(true);
    expect(allowsUri(['x:a%2Ab'], 'x:acb')).toBe(false);
  });

  it('is allowed only with what servers make of it without parameters and query', () => {
    const globs = ['file:///data/*.txt', 'app:/a;v=1/*', 'app:/b/c'];
    expect(allowsUri(globs, 'file:///data/a.txt')).toBe(true);
    expect(allowsUri(globs, 'file:///data/key?.txt')).toBe(false);
    expect(allowsUri(globs, 'file:///data/key#.txt')).toBe(false);
    expect(allowsUri(globs, 'file:///data/key%3F.txt')).toBe(false);
    expect(allowsUri(globs, 'file:///data/key;.txt')).toBe(false);
    expect(allowsUri(globs, 'app:/a;v=1/x')).toBe(true);
    expect(allowsUri(globs, 'app:/a;v=2/x')).toBe(false);
    expect(allowsUri(globs, 'app:/b/c?q')).toBe(false);
  });

  it.each([
    ['file:///secret/*', 'file:///secret;x/a'],
    ['file:///secret/*', 'file:///secret%3Bx/a'],
    ['file:///secret/*', 'file:///SECRET/a'],
    ['file:///secret/*', 'file:///ｓecret/a'],
    ['file:///a+b', 'file:///a%2Bb'],
    ['memo://Host/*', 'memo://hOST/a'],
    ['https://127.0.0.1/*', 'https://2130706433/a'],
    ['https://a.example/*', 'https://a.example:443/a'],
    ['https://a.example/*', 'https://a\u3002example/a'],
    ['file:///é', 'file:///e%CC%81'],
  ])('is denied by %j as %j', (glob, uri) => {
    expect(deniesUri([glob], uri)).toBe(true);
    expect(deniesUri(['other:*'], uri)).toBe(false);
  });
});
