// One text for one value.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, visibleString } from '../../../../src/catalog/pins/canonical-json.ts';

function canonical(text: string): string {
  return canonicalJson(Buffer.from(text), { isShown: false });
}

describe('canonical JSON', () => {
  it.each<[string, string]>([
    ['{"b":1,"a":{"d":[],"c":{}}}', '{"a":{"c":{},"d":[]},"b":1}'],
    [' { "a" : [ 1 , "x" , null ] } ', '{"a":[1,"x",null]}'],
    ['"\\u0041\\/"', '"A/"'],
    ['1.0', '1'],
    ['-0', '0'],
    ['10e-1', '1'],
    ['1E2', '100'],
    ['0.50', '0.5'],
    ['-12.5e-3', '-0.0125'],
    ['1e400', '1e400'],
    ['9007199254740993', '9007199254740993'],
    ['123456789012345678901234567890', '12345678901234567890123456789' + '0'],
    ['1e99999999999999', '1e99999999999999'],
  ])('%s is %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it('tells large integers apart', () => {
    expect(canonical('9007199254740993')).not.toBe(canonical('9007199254740992'));
  });

  it('keeps every one of members with the same name, in their order', () => {
    expect(canonical('{"b":0,"a":1,"a":2}')).toBe('{"a":1,"a":2,"b":0}');
    expect(canonical('{"a":2,"a":1}')).not.toBe(canonical('{"a":1,"a":2}'));
  });

  it('means the same as the text, and is the same for every spelling of it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonical(JSON.stringify(value));
        expect(JSON.parse(text)).toEqual(
          JSON.parse(JSON.stringify(value, (_, v) => (v === 0 ? 0 : v))),
        );
        const shown = canonicalJson(Buffer.from(text), { isShown: true });
        expect(canonical(shown)).toBe(text);
      }),
    );
  });

  it('reads a large text once, however deep it is', () => {
    const deep = `${'['.repeat(200)}${'1,'.repeat(200_000)}1${']'.repeat(200)}`;
    expect(canonical(deep)).toBe(deep);
  });

  it('shows on several lines what can not be seen', () => {
    const tag = String.fromCodePoint(0xe0041);
    expect(visibleString(`a b\u200b\u00a0${tag}\n\u202e`)).toBe(
      '"a b\\u200b\\u00a0\\udb40\\udc41\\n\\u202e"',
    );
    const text = Buffer.from(JSON.stringify({ b: [1, `${tag}`], a: 'é漢🙂' }));
    expect(canonicalJson(text, { isShown: true })).toBe(
      '{\n  "a": "é漢🙂",\n  "b": [\n    1,\n    "\\udb40\\udc41"\n  ]\n}',
    );
  });
});
