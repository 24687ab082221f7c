// Names where one endpoint shows several servers (trials 66 and 67, GW-100).
import { describe, expect, it } from 'vitest';
import { finished } from '../../../src/base/steps.ts';
import {
  exposeNames,
  type NamedMember,
  type NameTable,
  type PrefixMode,
} from '../../../src/catalog/names.ts';

const VALID = /^[A-Za-z0-9_-]{1,64}$/;

function named(prefix: PrefixMode, members: Readonly<Record<string, readonly string[]>>) {
  const list = Object.entries(members).map(([key, names]): NamedMember => ({ key, names }));
  const table = finished(exposeNames(list, { prefix, separator: '__' }));
  return { table, shown: shownBy(table, list) };
}

function shownBy(table: NameTable, members: readonly NamedMember[]): Record<string, string[]> {
  return Object.fromEntries(
    members.map(({ key, names }) => [
      key,
      names.map((name) => table.exposed(key, name) ?? '(withheld)'),
    ]),
  );
}

describe('names that are always prefixed', () => {
  it('start with the server', () => {
    const { table, shown } = named('always', { files: ['search', 'read'], web: ['search'] });
    expect(shown).toEqual({ files: ['files__search', 'files__read'], web: ['web__search'] });
    expect(table.owner('web__search')).toEqual({ key: 'web', name: 'search' });
    expect(table.owner('search')).toBeUndefined();
    expect(table.withheld).toEqual([]);
  });

  it('are prefixed with one server too', () => {
    expect(named('always', { files: ['read'] }).shown).toEqual({ files: ['files__read'] });
  });

  it('are valid and stable when they are too long [trial 66]', () => {
    const [key, name] = ['k'.repeat(30), 't'.repeat(60)];
    const { table, shown } = named('always', { [key]: [name], other: [name] });
    const exposed = shown[key]?.[0] ?? '';
    expect(exposed).toMatch(VALID);
    expect(exposed).toBe(`${key}__${'t'.repeat(25)}_ca62a8`);
    expect(table.owner(exposed)).toEqual({ key, name });
  });

  it('are told apart when they differ only where both are cut', () => {
    const names = ['a', 'b'].map((end) => 't'.repeat(127) + end);
    const { table, shown } = named('always', { files: names });
    expect(new Set(shown['files']).size).toBe(2);
    expect(shown['files']?.map((name) => table.owner(name)?.name)).toEqual(names);
  });

  it('are told apart when other characters become the same', () => {
    const names = ['a.b', 'a/b', 'a b', 'a_b', '', 'ä', '\ud800', '\ud801'];
    const { shown } = named('always', { files: names });
    expect(new Set(shown['files']).size).toBe(names.length);
    for (const name of shown['files'] ?? []) expect(name).toMatch(VALID);
    expect(shown['files']?.[3]).toBe('files__a_b');
  });

  it('are told apart when a name looks like a prefix', () => {
    const members = { a: ['b__c'], a__b: ['c'] };
    const { table, shown } = named('always', members);
    expect(new Set(Object.values(shown).flat()).size).toBe(2);
    for (const [key, [name = '']] of Object.entries(shown)) {
      expect(name).toMatch(/^a__b__c_[0-9a-f]{6}$/);
      expect(table.owner(name)?.key).toBe(key);
    }
  });
});

describe('names that are prefixed on conflict', () => {
  it('stay as they are while one server has them', () => {
    const { shown } = named('onConflict', { files: ['search', 'read'], web: ['search', 'get'] });
    expect(shown).toEqual({ files: ['files__search', 'read'], web: ['web__search', 'get'] });
  });

  it('are untouched with one server, whatever they are', () => {
    const names = ['a.b', 'ü'.repeat(100), ''];
    expect(named('onConflict', { files: names }).shown).toEqual({ files: names });
  });

  it("collide with nothing when a server lists another's prefixed name", () => {
    const { table, shown } = named('onConflict', {
      files: ['search'],
      web: ['search'],
      evil: ['files__search'],
    });
    expect(new Set(Object.values(shown).flat()).size).toBe(3);
    expect(table.owner('files__search')).toBeUndefined();
  });

  it('collide with nothing when a server lists what a digest makes of another', () => {
    const long = 'x'.repeat(80);
    const taken: string[] = [];
    for (let round = 0; round < 10; round++) {
      const { shown } = named('onConflict', { victim: [long], evil: taken });
      const [name = ''] = shown['victim'] ?? [];
      expect(taken).not.toContain(name);
      expect(new Set([name, ...(shown['evil'] ?? [])]).size).toBe(taken.length + 1);
      taken.push(name);
    }
  });
});

describe('names that are never prefixed', () => {
  it('stay with the first server that has them, and the others are told [trial 67]', () => {
    const { table, shown } = named('never', {
      files: ['search'],
      web: ['search', 'get'],
      more: ['search'],
    });
    expect(shown).toEqual({ files: ['search'], web: ['(withheld)', 'get'], more: ['(withheld)'] });
    expect(table.owner('search')).toEqual({ key: 'files', name: 'search' });
    expect(table.withheld).toEqual([
      { key: 'web', name: 'search', keptBy: 'files' },
      { key: 'more', name: 'search', keptBy: 'files' },
    ]);
  });

  it('are made valid with several servers', () => {
    const { shown } = named('never', { files: ['a.b'], web: [] });
    expect(shown['files']?.[0]).toMatch(/^a_b_[0-9a-f]{6}$/);
  });
});

it('one name listed twice is one name', () => {
  const { table, shown } = named('always', { files: ['read', 'read'] });
  expect(shown['files']).toEqual(['files__read', 'files__read']);
  expect(table.size).toBe(1);
});
