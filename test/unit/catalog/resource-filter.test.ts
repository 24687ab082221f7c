// Which resources clients see and read.
import { describe, expect, it } from 'vitest';
import { ResourceFilter } from '../../../src/catalog/resource-filter.ts';

describe('a filter of resources', () => {
  it('lets everything through when nothing is said', () => {
    const filter = new ResourceFilter([undefined, undefined]);
    expect(filter.passes('file:///a/../b')).toBe(true);
  });

  it('lets through what every level does', () => {
    const filter = new ResourceFilter([{ allow: ['file:*'] }, { deny: ['*.key'] }]);
    expect(filter.passes('file:///a')).toBe(true);
    expect(filter.passes('memo://a')).toBe(false);
    expect(filter.passes('file:///a.key')).toBe(false);
  });

  it.each([
    ['file:///docs/a.md', true],
    ['file:///docs/a%20b', true],
    ['file:///docs/{+path}', true],
    ['FILE:///docs/a', true],
    ['file:///docs', false],
    ['file:///docs/..;/secret', false],
    ['file:///docs/a\uff0fb', false],
    ['file:///docs/../secret', false],
    ['file:///docs/..', false],
    ['file:///docs/%2e%2e/secret', false],
    ['file:///docs/..%2fsecret', false],
    ['file:///docs/%252e%252e%252fsecret', false],
    ['file:///docs/..\\secret', false],
  ])('allows what file:///docs/* means: %j %j', (uri, passes) => {
    expect(new ResourceFilter([{ allow: ['file:///docs/*'] }]).passes(uri)).toBe(passes);
  });

  it.each([
    ['file:///docs/a', true],
    ['file:///secret/a', false],
    ['FILE:///secret/a', false],
    ['file:/secret/a', false],
    ['file:///%73ecret/a', false],
    ['file:///%73ecret/a%zz%ff', false],
    ['file:///docs/../secret/a', false],
    // Readers of files that look at the path alone.
    ['file://x/secret/a', false],
    ['file://127.0.0.1/secret/a', false],
    ['file://[::1]/secret/a', false],
    ['file://user@/secret/a', false],
    ['file://X/%73ecret/a', false],
    ['file:secret/a', false],
    ['/secret/a', false],
    ['/%73ecret/a', false],
    ['secret/a', false],
    [' /secret/a', false],
    ['\\secret\\a', false],
    ['file://x/docs/secret/a', true],
    ['/docs/secret/a', true],
    ['memo://x/secret/a', true],
    ['memo:/secret/a', true],
  ])('denies what file:///secret/* means: %j %j', (uri, passes) => {
    expect(new ResourceFilter([{ deny: ['file:///secret/*'] }]).passes(uri)).toBe(passes);
  });

  it.each([
    ['file:///docs/key', false],
    ['file:///docs/key?x', false],
    ['file:///docs/key#x', false],
    ['file:///docs/key%3Fx', false],
    ['file:///docs/key/', false],
    ['/docs/key;x', false],
    ['/docs/key?x', false],
    ['file:///docs/keys', true],
    ['file:///docs/key/more', true],
  ])('denies one file however much follows its path: %j %j', (uri, passes) => {
    for (const deny of ['file:///docs/key', '/docs/key', 'file://localhost/docs/key']) {
      expect(new ResourceFilter([{ deny: [deny] }]).passes(uri), deny).toBe(passes);
    }
  });

  it('allows a path only as the list has it', () => {
    const filter = new ResourceFilter([{ allow: ['file:///docs/*'] }]);
    for (const uri of ['/docs/a', 'file://x/docs/a', 'file:docs/a', 'docs/a']) {
      expect(filter.passes(uri), uri).toBe(false);
    }
  });

  it('takes a URI as it stands in the list', () => {
    const uris = ['https://Example.com', 'note 1', 'a%20b:x', 'https://a.example:443/%2F', 'x:%'];
    for (const uri of uris) {
      expect(new ResourceFilter([{ allow: [uri] }]).passes(uri), uri).toBe(true);
      expect(new ResourceFilter([{ deny: [uri] }]).passes(uri), uri).toBe(false);
    }
  });
});
