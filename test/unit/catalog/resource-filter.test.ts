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
    ['FILE:///docs/a', false],
    ['file:///docs', false],
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
  ])('denies what file:///secret/* means: %j %j', (uri, passes) => {
    expect(new ResourceFilter([{ deny: ['file:///secret/*'] }]).passes(uri)).toBe(passes);
  });

  it('takes a URI as it stands in the list', () => {
    const uris = ['https://Example.com', 'note 1', 'a%20b:x', 'https://a.example:443/%2F', 'x:%'];
    for (const uri of uris) {
      expect(new ResourceFilter([{ allow: [uri] }]).passes(uri), uri).toBe(true);
      expect(new ResourceFilter([{ deny: [uri] }]).passes(uri), uri).toBe(false);
    }
  });
});
