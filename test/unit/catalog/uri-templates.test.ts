// Which URIs a resource template stands for.
import { describe, expect, it } from 'vitest';
import { matchesTemplate, parseTemplate, schemeOf } from '../../../src/catalog/uri-templates.ts';

function matches(template: string, uri: string): boolean | undefined {
  const parsed = parseTemplate(template);
  return parsed && matchesTemplate(parsed, uri);
}

describe('a template', () => {
  it.each([
    ['file:///a', 'file:///a', true],
    ['file:///a', 'file:///ab', false],
    // level 1
    ['test://{id}', 'test://7', true],
    ['test://{id}', 'test://', false],
    ['test://{id}', 'test://a/b', false],
    ['test://{id}/data', 'test://a%2Fb/data', true],
    ['test://{id}/data', 'test://é 💥/data', true],
    ['test://{id}/data', 'test://7/date', false],
    ['{a}{b}', 'x', false],
    ['{a}{b}', 'xy', true],
    ['a{x}a{y}a', 'aaaaa', true],
    ['a{x}a{y}a', 'aaaa', false],
    // level 2
    ['file:///{+path}', 'file:///a/b?c#d', true],
    ['file:///{+path}.md', 'file:///a/b.md.md', true],
    ['file:///{+path}.md', 'file:///a/b.mdx', false],
    ['doc://a{#part}', 'doc://a#b/c', true],
    ['doc://a{#part}', 'doc://a', true],
    ['doc://a{#part}', 'doc://ab', false],
    // level 3
    ['map://{x,y}', 'map://1024,768', true],
    ['www{.dom}', 'www.example.com', true],
    ['www{.dom}', 'wwwexample', false],
    ['files:{/dir}', 'files:/a', true],
    ['files:{/dir}', 'files:/a/b', false],
    ['files:{/dir,file}', 'files:/a/b', true],
    ['p:a{;x,y}', 'p:a;x=1;y=2', true],
    ['db://t{?limit,offset}', 'db://t?limit=1&offset=2', true],
    ['db://t{?limit,offset}', 'db://t', true],
    ['db://t{?limit,offset}', 'db://t#x', false],
    ['db://t?fixed=1{&x}', 'db://t?fixed=1&x=2', true],
    // what servers write besides
    ['file:///{path*}', 'file:///a/b', true],
    ['files:{/path*}', 'files:/a/b/c', true],
    ['u:{name:3}', 'u:abc', true],
    ['u:{user-id}', 'u:7', true],
  ])('%j and %j: %j', (template, uri, isMatch) => {
    expect(matches(template, uri)).toBe(isMatch);
  });

  it.each(['a{', 'a}', '{}', '{a{b}}', '{=x}', '{a b}', '{a,}', '{+}', 'x'.repeat(3_000)])(
    '%j is none',
    (text) => {
      expect(parseTemplate(text)).toBeUndefined();
    },
  );

  it('has a bounded number of expressions, and so has the URI of characters', () => {
    expect(parseTemplate('{a}'.repeat(33))).toBeUndefined();
    expect(matches('{+a}', 'x'.repeat(4_096))).toBe(true);
    expect(matches('{+a}', 'x'.repeat(4_097))).toBe(false);
  });

  it('with several runs in a row is one with so many characters', () => {
    expect(parseTemplate('x:{+a}{+b}{+c}')?.parts).toHaveLength(2);
    expect(matches('{+a}{+b}{+c}', 'xyz')).toBe(true);
    expect(matches('{+a}{+b}{+c}', 'xy')).toBe(false);
    expect(matches('{a}{b}/{c}{d}', 'xy/ab')).toBe(true);
    expect(matches('{a}{b}/{c}{d}', 'xyz/a')).toBe(false);
    expect(matches('{a}{+b}{c}', 'a/b')).toBe(true);
    expect(matches('{a}{+b}{c}', 'a/')).toBe(false);
  });

  it('matches nothing once the effort is spent, which goes by what is looked at', () => {
    const spent = (template: string, uri: string): number => {
      const matchBudget = { left: 1_000_000 };
      const parsed = parseTemplate(template);
      if (parsed !== undefined) matchesTemplate(parsed, uri, matchBudget);
      return 1_000_000 - matchBudget.left;
    };
    expect(spent('y:{+a}', `x:${'a'.repeat(4_000)}`)).toBeLessThan(10);
    expect(spent('{+a}.md', `x:${'a'.repeat(4_000)}`)).toBeLessThan(10);
    expect(spent(`x:${'{+a}'.repeat(31)}`, `x:${'a'.repeat(4_000)}`)).toBeLessThan(10_000);
    expect(spent(`${'{+a}a'.repeat(31)}`, 'a'.repeat(4_000))).toBeGreaterThan(100_000);
    const parsed = parseTemplate('x:{a}');
    expect(parsed && matchesTemplate(parsed, 'x:1', { left: 5 })).toBe(false);
  });

  it('takes no long time over what makes regular expressions hang', () => {
    expect(matches(`${'{+a}'.repeat(32)}!`, 'a'.repeat(4_096))).toBe(false);
    expect(matches(`{+a}${'a'.repeat(2_000)}!`, 'a'.repeat(4_096))).toBe(false);
    expect(matches(`${'{a*}a'.repeat(32)}!`, 'a'.repeat(4_096))).toBe(false);
  });
});

describe('a scheme', () => {
  it.each([
    ['file:///a', 'file'],
    ['GIT+HTTPS://a', 'git+https'],
    ['x.3d+a-b.c:', 'x.3d+a-b.c'],
    ['test://{id}', 'test'],
    ['{scheme}://a', undefined],
    ['te{st}://a', undefined],
    ['note', undefined],
    ['3d:a', undefined],
    ['/a:b', undefined],
    ['', undefined],
  ])('of %j is %j', (text, scheme) => {
    expect(schemeOf(text)).toBe(scheme);
  });
});
