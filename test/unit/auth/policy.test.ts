// Which rules apply to whom, and what they allow.
import { describe, expect, it } from 'vitest';
import { authSchema } from '../../../src/auth/options.ts';
import { RulePolicy } from '../../../src/auth/policy.ts';
import type { AccessItem, Principal } from '../../../src/ports/principal.ts';

function policy(allow: unknown[], onDenied = 'hide'): RulePolicy {
  const options = authSchema.parse({ keys: { file: 'k' }, allow, onDenied });
  return new RulePolicy(options.allow, options.onDenied);
}

function principal(
  fields: Partial<Principal> & { inGroups?: string[]; with?: string[] },
): Principal {
  const { inGroups = [], with: scopes = [], ...rest } = fields;
  return { key: 'k', kind: 'token', groups: new Set(inGroups), scopes: new Set(scopes), ...rest };
}

const tool = (server: string, name: string): AccessItem => ({ server, kind: 'tool', name });

describe('a rule', () => {
  it('G02 allows nothing beside what it names', () => {
    const rules = policy([{ servers: ['a'] }]);
    const anyone = principal({});
    expect(rules.opens(anyone, 'a')).toBe(true);
    expect(rules.opens(anyone, 'b')).toBe(false);
    expect(rules.opens(anyone, 'A')).toBe(false);
    expect(rules.opens(anyone, 'ab')).toBe(false);
    expect(rules.allows(anyone, tool('a', 'x'))).toBe(true);
    expect(rules.allows(anyone, tool('b', 'x'))).toBe(false);
  });

  it('that names one kind of thing allows none of the others', () => {
    const rules = policy([{ servers: ['*'], tools: ['read_*', 'list'] }]);
    const anyone = principal({});
    expect(rules.allows(anyone, tool('a', 'read_x'))).toBe(true);
    expect(rules.allows(anyone, tool('a', 'list'))).toBe(true);
    expect(rules.allows(anyone, tool('a', 'list_all'))).toBe(false);
    expect(rules.allows(anyone, { server: 'a', kind: 'prompt', name: 'list' })).toBe(false);
    expect(rules.allows(anyone, { server: 'a', kind: 'resource', name: 'list' })).toBe(false);
  });

  it('with an empty list allows none of that kind', () => {
    const rules = policy([{ servers: ['*'], tools: [], resources: ['file:///d/*'] }]);
    const anyone = principal({});
    expect(rules.allows(anyone, tool('a', 'x'))).toBe(false);
    expect(rules.allows(anyone, { server: 'a', kind: 'resource', name: 'file:///d/x' })).toBe(true);
    expect(rules.allows(anyone, { server: 'a', kind: 'resource', name: 'file:///e' })).toBe(false);
  });

  it.each<[string, object, Principal, boolean]>([
    ['one of its groups', { groups: ['g', 'h'] }, principal({ inGroups: ['h'] }), true],
    ['none of its groups', { groups: ['g'] }, principal({ inGroups: ['h'] }), false],
    ['no groups at all', { groups: ['g'] }, { key: 'k' }, false],
    ['all of its scopes', { scopes: ['r', 'w'] }, principal({ with: ['w', 'r', 'x'] }), true],
    ['some of its scopes', { scopes: ['r', 'w'] }, principal({ with: ['r'] }), false],
    ['its key by id', { keys: ['id1'] }, principal({ kind: 'key', keyId: 'id1' }), true],
    ['its key by name', { keys: ['ci'] }, principal({ kind: 'key', keyId: 'i', name: 'ci' }), true],
    ['a subject with the name of its key', { keys: ['ci'] }, principal({ name: 'ci' }), false],
    [
      'its group, but not its scope',
      { groups: ['g'], scopes: ['r'] },
      principal({ inGroups: ['g'] }),
      false,
    ],
    ['nothing, where it asks for nothing', {}, principal({}), true],
  ])('is for whoever has %s', (_, who, somebody, isAllowed) => {
    const rules = policy([{ who, servers: ['a'] }]);
    expect(rules.opens(somebody, 'a')).toBe(isAllowed);
    expect(rules.allows(somebody, tool('a', 'x'))).toBe(isAllowed);
  });

  it.each([
    [{ allow: [] }],
    [{}],
    [{ allow: [{ servers: [] }] }],
    [{ allow: [{ who: { group: 'x' }, servers: ['a'] }] }],
    [{ allow: [{ servers: ['a'] }], onDenied: 'allow' }],
  ])('G01 that is none is refused: %j', (rest) => {
    expect(authSchema.safeParse({ keys: { file: 'k' }, ...rest }).success).toBe(false);
  });
});

describe('scopes that would help', () => {
  const rules = policy([
    { who: { groups: ['g'], scopes: ['admin'] }, servers: ['a'] },
    { who: { scopes: ['read', 'list'] }, servers: ['a'], tools: ['r*'] },
  ]);

  it('GW-152 are all those of the first rule that only they stand against', () => {
    const reader = principal({ with: ['read'] });
    expect(rules.missingScopes(reader, tool('a', 'r1'))).toEqual(['read', 'list']);
    expect(rules.missingScopes(principal({ inGroups: ['g'] }), tool('a', 'w1'))).toEqual(['admin']);
    expect(rules.missingScopesFor(principal({}), ['a'])).toEqual(['read', 'list']);
  });

  it('are none where no rule is about the thing, or the key can not have more', () => {
    expect(rules.missingScopes(principal({}), tool('a', 'w1'))).toEqual([]);
    expect(rules.missingScopes(principal({ kind: 'key' }), tool('a', 'r1'))).toEqual([]);
    expect(rules.missingScopesFor(principal({}), ['b'])).toEqual([]);
  });
});
