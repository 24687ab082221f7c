// URIs of resources where one endpoint shows several servers.
import { describe, expect, it } from 'vitest';
import { finished } from '../../../src/base/steps.ts';
import {
  type ResourceMember,
  ResourceTable,
  schemePrefix,
  unwrapUri,
  wrapUri,
} from '../../../src/catalog/resource-uris.ts';

function member(
  key: string,
  uris: readonly string[] = [],
  templates: readonly string[] = [],
): ResourceMember {
  return { key, hasResources: true, uris, templates };
}

const tableOf = (of: readonly ResourceMember[]): ResourceTable => finished(ResourceTable.of(of));

describe('a prefix', () => {
  it('is a legal scheme', () => {
    expect(schemePrefix('fs')).toBe('fs+');
    expect(schemePrefix('3d')).toBe('x.3d+');
    expect(wrapUri('3d', 'file:///{path}')).toBe('x.3d+file:///{path}');
  });

  it.each([
    ['fs+file:///a', { key: 'fs', uri: 'file:///a' }],
    ['FS+file:///A', { key: 'fs', uri: 'file:///A' }],
    ['x.3d+a+b', { key: '3d', uri: 'a+b' }],
    ['fs+', { key: 'fs', uri: '' }],
    ['x.fs+a', undefined],
    ['3d+a', undefined],
    ['other+a', undefined],
    ['+a', undefined],
    ['fs', undefined],
  ])('of %j comes off as %j', (uri, owner) => {
    expect(unwrapUri(new Set(['fs', '3d']), uri)).toEqual(owner);
  });
});

describe('the URI of one server', () => {
  it('is unchanged, and leads there', () => {
    const table = tableOf([member('a', ['file:///a']), member('b', ['file:///b'])]);
    expect(table.exposed('a', 'file:///a')).toBe('file:///a');
    expect(table.resolve('file:///b')).toEqual({ kind: 'one', key: 'b', uri: 'file:///b' });
  });

  it('is wrapped when another server lists it too, as URI or as template', () => {
    const table = tableOf([
      member('a', ['doc://x'], ['doc://{id}']),
      member('b', [], ['doc://x', 'doc://{id}']),
    ]);
    expect(table.exposed('a', 'doc://x')).toBe('a+doc://x');
    expect(table.exposed('b', 'doc://x')).toBe('b+doc://x');
    expect(table.exposed('a', 'doc://{id}')).toBe('a+doc://{id}');
    expect(table.resolve('a+doc://7')).toEqual({ kind: 'one', key: 'a', uri: 'doc://7' });
  });

  it('is wrapped when a template of another server matches it, and so is that template', () => {
    const table = tableOf([
      member('leg', [], ['test://item/{id}', 'test://page/{id}']),
      member('evil', ['test://item/5', 'test://other']),
    ]);
    expect(table.exposed('evil', 'test://item/5')).toBe('evil+test://item/5');
    expect(table.exposed('leg', 'test://item/{id}')).toBe('leg+test://item/{id}');
    expect(table.resolve('leg+test://item/5')).toMatchObject({ kind: 'one', key: 'leg' });
    // Without prefix it may be of either; the first one of the configuration is asked first.
    const targets = ['leg', 'evil'].map((key) => ({ key, uri: 'test://item/5' }));
    expect(table.resolve('test://item/5')).toEqual({ kind: 'several', targets });
    expect(table.resolve('test://item/6')).toMatchObject({ kind: 'one', key: 'leg' });
    for (const [key, uri] of [
      ['leg', 'test://page/{id}'],
      ['evil', 'test://other'],
    ] as const) {
      expect(table.exposed(key, uri)).toBe(uri);
    }
  });

  it('is wrapped where it takes too much to find out whose it could be', () => {
    const templates = Array.from({ length: 1_000 }, (_, at) => `doc://{a}/${at}/{b}/{c}`);
    const uris = Array.from({ length: 10_000 }, (_, at) => `doc://${'x'.repeat(200)}/${at}`);
    const table = tableOf([member('a', uris), member('b', [], templates)]);
    const [uri = ''] = uris;
    expect(table.exposed('a', uri)).toBe(`a+${uri}`);
    expect(table.resolve(`a+${uri}`)).toEqual({ kind: 'one', key: 'a', uri });
  });

  it('is wrapped when it looks wrapped', () => {
    const table = tableOf([member('git'), member('hub', ['Git+https://x'])]);
    expect(table.exposed('hub', 'Git+https://x')).toBe('hub+Git+https://x');
    expect(table.resolve('hub+Git+https://x')).toMatchObject({ key: 'hub', uri: 'Git+https://x' });
    expect(table.exposed('git', 'git+ssh://y')).toBe('git+git+ssh://y');
  });

  it('is wrapped when it is a template that can become anything', () => {
    const table = tableOf([member('git'), member('any', [], ['{+url}'])]);
    expect(table.exposed('any', '{+url}')).toBe('any+{+url}');
  });

  it('stays as it is with one server, whatever it is', () => {
    const table = tableOf([member('git', ['git+https://x'])]);
    expect(table.exposed('git', 'git+https://x')).toBe('git+https://x');
    expect(table.resolve('git+https://x')).toMatchObject({ kind: 'one', uri: 'git+https://x' });
    expect(table.resolve('other')).toMatchObject({ kind: 'one', key: 'git' });
  });
});

describe('a URI that no list named', () => {
  const table = tableOf([
    member('files', ['file:///a'], ['file:///logs/{name}']),
    member('more', ['file:///b', 'memo://1'], ['file:///docs/{name}', 'mail://{id}']),
    member('post', [], ['mail://{box}', '{any}']),
    { ...member('tools'), hasResources: false },
  ]);

  it.each([
    ['file:///docs/x', 'more'],
    ['file:///logs/x', 'files'],
    ['memo://2', 'more'],
    ['plain', 'post'],
  ])('%j leads where its template or scheme says: %j', (uri, key) => {
    expect(table.resolve(uri)).toEqual({ kind: 'one', key, uri });
  });

  it.each([
    ['mail://7', ['more', 'post', 'files']],
    ['file:///c', ['files', 'more', 'post']],
    ['https://x', ['files', 'more', 'post']],
  ])('%j may be anywhere, the likeliest first: %j', (uri, keys) => {
    const targets = keys.map((key) => ({ key, uri }));
    expect(table.resolve(uri)).toEqual({ kind: 'several', targets });
  });

  it('leads to the only server that has resources', () => {
    const alone = tableOf([member('a'), { ...member('b'), hasResources: false }]);
    expect(alone.resolve('file:///x')).toEqual({ kind: 'one', key: 'a', uri: 'file:///x' });
  });

  it('leads nowhere when no server has resources', () => {
    const none = tableOf(['a', 'b'].map((key) => ({ ...member(key), hasResources: false })));
    expect(none.resolve('file:///x')).toEqual({ kind: 'several', targets: [] });
  });
});

describe('a URI in a result', () => {
  const table = tableOf([
    member('a', ['file:///a', 'https://a.example/1']),
    member('b', ['memo://1'], ['memo://{id}']),
  ]);

  it.each([
    ['b', 'memo://7', 'memo://7'],
    ['a', 'memo://7', 'a+memo://7'],
    ['b', 'file:///a', 'b+file:///a'],
    ['b', 'unheard:of', 'b+unheard:of'],
    ['b', 'https://b.example/2', 'https://b.example/2'],
    ['b', 'https://a.example/1', 'b+https://a.example/1'],
    ['a', 'https://a.example/1', 'https://a.example/1'],
  ])('of %j, %j, is shown as %j', (key, uri, exposed) => {
    expect(table.exposed(key, uri)).toBe(exposed);
  });
});

describe('very many templates', () => {
  // Each can become what it is matched with but for its last character, in very many ways.
  const slow = Array.from({ length: 900 }, (_, i) => `x:${'{+a}a'.repeat(29)}{b}!${i}{+c}`);
  const table = tableOf([member('slow', ['x:y'], slow), member('good', [], ['x:{+any}'])]);
  const uri = (i: number): string => `x:${i}${'a'.repeat(4_000)}`;

  it('cost no more than a bound for each server, and hide no other one', () => {
    const matchBudget = { left: 1_000_000 };
    expect(table.exposed('good', uri(0), matchBudget)).toBe(uri(0));
    expect(table.resolve(uri(0))).toEqual({ kind: 'one', key: 'good', uri: uri(0) });
    expect(matchBudget.left).toBeGreaterThan(850_000);
    expect(matchBudget.left).toBeLessThan(950_000);
  });

  it('are looked at as far as there are not too many', () => {
    const kindBehind = (count: number): string => {
      const templates = [...Array.from({ length: count }, (_, i) => `z:${i}`), '{+late}'];
      return tableOf([member('many', [], templates), member('other')]).resolve('q:1').kind;
    };
    expect(kindBehind(999)).toBe('one');
    expect(kindBehind(1_000)).toBe('several');
  });

  it('let a message with very many URIs have prefixes, once the effort is over', () => {
    const matchBudget = { left: 1_000_000 };
    const shown = Array.from({ length: 100 }, (_, i) => table.exposed('good', uri(i), matchBudget));
    const wrapped = shown.filter((text) => text.startsWith('good+'));
    expect(wrapped.length).toBeGreaterThan(80);
    for (const [i, text] of shown.entries()) {
      expect(table.resolve(text)).toEqual({ kind: 'one', key: 'good', uri: uri(i) });
    }
  });
});
