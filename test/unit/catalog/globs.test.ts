// Globs over names and URIs.
import { describe, expect, it } from 'vitest';
import { matchesGlob } from '../../../src/base/glob.ts';
import { passesFilter } from '../../../src/catalog/globs.ts';

describe('C12 a glob', () => {
  it.each([
    ['search', 'search', true],
    ['search', 'Search', false],
    ['search', 'searches', false],
    ['search*', 'searches', true],
    ['*search', 'research', true],
    ['*', '', true],
    ['', '', true],
    ['', 'a', false],
    ['a**b', 'ab', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['get_?', 'get_a', true],
    ['get_?', 'get_', false],
    ['get_?', 'get_💥', true],
    ['*?', '💥', true],
    ['??', '💥', false],
    ['file:///data/*', 'file:///data/a/b/c.txt', true],
    ['file:///data/*', 'file:///date', false],
    ['[a-z]', 'a', false],
    ['[a-z]', '[a-z]', true],
    ['a.b', 'axb', false],
    ['*.md', 'docs/.hidden/readme.md', true],
  ])('%j on %j is %j', (glob, text, isMatch) => {
    expect(matchesGlob(glob, text)).toBe(isMatch);
  });

  it('takes no long time over what makes regular expressions hang', () => {
    expect(matchesGlob(`${'*a'.repeat(100)}b`, 'a'.repeat(10_000))).toBe(false);
  });
});

describe('a filter', () => {
  it('shows everything when it says nothing', () => {
    expect(passesFilter(undefined, 'any')).toBe(true);
    expect(passesFilter({}, 'any')).toBe(true);
  });

  it('shows only what is allowed', () => {
    expect(passesFilter({ allow: ['get_*', 'list'] }, 'list')).toBe(true);
    expect(passesFilter({ allow: ['get_*', 'list'] }, 'set')).toBe(false);
    expect(passesFilter({ allow: [] }, 'list')).toBe(false);
  });

  it('hides what is denied, even if it is allowed', () => {
    expect(passesFilter({ deny: ['rm*'] }, 'list')).toBe(true);
    expect(passesFilter({ allow: ['*'], deny: ['rm*'] }, 'rmdir')).toBe(false);
  });
});
