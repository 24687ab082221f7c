/** Which watched resources an update is about. */
import { expect, it } from 'vitest';
import { WatchedUris } from '../../../src/mcp/subscription.ts';

function watched(...uris: readonly string[]) {
  const all = new WatchedUris<string>();
  for (const uri of uris) all.set(uri, uri);
  return all;
}

it.each([
  ['a:b/c', ['a:b', 'a:b/', 'a:b/c']],
  ['a:b/', ['a:b', 'a:b/']],
  ['a:b', ['a:b']],
  ['a:b?q=1', ['a:b']],
  ['a:b#f', ['a:b']],
  ['a:bc', []],
  ['a', []],
])('an update of %s is about %j', (uri, expected) => {
  const all = watched('a:b', 'a:b/', 'a:b/c', 'a:b/c/d');
  expect(all.covering(uri).sort()).toEqual(expected);
});

it('forgets what is watched no longer', () => {
  const all = watched('a:b', 'a:c');
  all.delete('a:b');
  all.delete('a:unknown');
  expect([...all.keys()]).toEqual(['a:c']);
  expect(all.covering('a:b')).toEqual([]);
  expect(all.covering('a:c/d')).toEqual(['a:c']);
  all.clear();
  expect(all.covering('a:c')).toEqual([]);
});
