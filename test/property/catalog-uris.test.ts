// URIs of several servers behind one endpoint: each leads back to its own, whatever the servers list
// and in whatever order they stand (issue 4).
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { finished } from '../../src/base/steps.ts';
import { type ResourceMember, ResourceTable } from '../../src/catalog/resource-uris.ts';
import { matchesTemplate, parseTemplate } from '../../src/catalog/uri-templates.ts';
import { runs } from '../support/runs.ts';

const tableOf = (of: readonly ResourceMember[]): ResourceTable => finished(ResourceTable.of(of));
const RUNS = { numRuns: runs(1_000) };

const key = fc.oneof(
  fc.constantFrom('git', 'fs', '3d', 'x', 'https', 'file', 'git-hub'),
  fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/),
);
const scheme = fc.constantFrom(
  'file',
  'https',
  'git+https',
  'GIT+ssh',
  'x.3d+file',
  'fs+fs+file',
  'memo',
);
const rest = fc.oneof(
  fc.constantFrom('', '///a', '//x/a?b#c', '//é/💥', ' +'),
  fc.string({ unit: 'binary', maxLength: 10 }),
);
const uri = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(scheme, rest).map(([left, right]) => `${left}:${right}`) },
  { weight: 1, arbitrary: rest },
);
const template = fc.oneof(
  fc
    .tuple(scheme, fc.constantFrom('//{id}', '///{+path}', '//x{/a,b}{?q}', '//a/{id}.md'))
    .map(([left, right]) => `${left}:${right}`),
  fc.constantFrom('{+url}', '{scheme}://a', 'gi{x}', 'memo://plain', 'broken{'),
);
const members = fc.uniqueArray(
  fc.record({
    key,
    hasResources: fc.constant(true),
    uris: fc.array(uri, { maxLength: 6 }),
    templates: fc.array(template, { maxLength: 4 }),
  }) satisfies fc.Arbitrary<ResourceMember>,
  { minLength: 1, maxLength: 5, selector: (member) => member.key },
);

test('what a list shows leads back', () => {
  fc.assert(
    fc.property(members, (list) => {
      const table = tableOf(list);
      const seen = new Map<string, string>();
      for (const { key: owner, uris, templates } of list) {
        for (const text of new Set([...uris, ...templates])) {
          const exposed = table.exposed(owner, text);
          expect(seen.get(exposed)).toBeUndefined();
          seen.set(exposed, owner);
          expect(table.resolve(exposed)).toEqual({ kind: 'one', key: owner, uri: text });
        }
      }
    }),
    RUNS,
  );
});

test('what a result names leads back, or is an address that nobody lists', () => {
  fc.assert(
    fc.property(members, uri, fc.nat(), (list, text, at) => {
      const table = tableOf(list);
      const owner = list[at % list.length]?.key ?? '';
      const exposed = table.exposed(owner, text);
      const target = table.resolve(exposed);
      if (exposed === text && /^https?:/.test(text) && target.kind === 'several') {
        expect(target.targets).toContainEqual({ key: owner, uri: text });
      } else if (!(exposed === text && /^https?:/.test(text))) {
        expect(target).toEqual({ kind: 'one', key: owner, uri: text });
      }
    }),
    RUNS,
  );
});

test('what a shown template becomes leads to its server, or to all that may have it', () => {
  fc.assert(
    fc.property(members, fc.stringMatching(/^[a-z0-9]{1,5}$/), (list, value) => {
      const table = tableOf(list);
      const own = list.flatMap(({ key: owner, templates }) =>
        templates.map((text) => ({ owner, text, template: parseTemplate(text) })),
      );
      for (const { owner, text, template: parsed } of own) {
        if (parsed === undefined) continue;
        const is = { key: owner, uri: expand(text, value) };
        expect(matchesTemplate(parsed, is.uri)).toBe(true);
        const shown = expand(table.exposed(owner, text), value);
        const target = table.resolve(shown);
        if (target.kind === 'several') expect(target.targets).toContainEqual(is);
        else expect(target).toEqual({ kind: 'one', ...is });
      }
    }),
    RUNS,
  );
});

test('what is shown as it is matches no template of another server', () => {
  fc.assert(
    fc.property(members, (list) => {
      fc.pre(list.length > 1);
      const table = tableOf(list);
      // One without a scheme matches everything, and takes nothing by that.
      const all = list.flatMap(({ key: owner, templates }) =>
        templates
          .filter((text) => /^[a-z][a-z0-9+.-]*:/i.test(text))
          .map((text) => ({ owner, template: parseTemplate(text) })),
      );
      for (const { key: owner, uris } of list) {
        for (const text of uris.filter((one) => table.exposed(owner, one) === one)) {
          const others = all.filter((one) => one.owner !== owner && one.template !== undefined);
          const matching = others.filter(
            ({ template: one }) => one !== undefined && matchesTemplate(one, text),
          );
          expect(matching).toEqual([]);
        }
      }
    }),
    RUNS,
  );
});

test('the order of servers changes nothing that is shown', () => {
  fc.assert(
    fc.property(members, uri, (list, text) => {
      const [left, right] = [tableOf(list), tableOf(list.toReversed())];
      for (const { key: owner, uris, templates } of list) {
        for (const one of [...uris, ...templates, text]) {
          expect(right.exposed(owner, one)).toBe(left.exposed(owner, one));
        }
      }
    }),
    RUNS,
  );
});

function expand(text: string, value: string): string {
  return text.replace(/\{([+/?]?)([^}]*)\}/g, (_, operator: string, names: string) => {
    const values = names.split(',').map((name) => (operator === '?' ? `${name}=${value}` : value));
    const lead = operator === '+' ? '' : operator;
    return lead + values.join(operator === '/' ? '/' : ',');
  });
}
