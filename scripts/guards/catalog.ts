// Guards of what is shown of servers, to whom: rules, shaping, filters, pins, and schemas that are read.
import type { Guard } from './guard.ts';

const ROUTES = 'src/router/aggregate/routes.ts';
const VISIBILITY = 'src/router/aggregate/visibility.ts';
const ANSWERS = 'src/router/aggregate/answers.ts';
const LINKS = 'src/router/aggregate/member-leases.ts';
const CATALOG = 'src/catalog/member-catalog.ts';
const URI_READING = 'src/base/uri-reading.ts';
const URI_RULES = 'src/base/uri-rules.ts';
const RULE_TESTS = 'test/integration/access/rules.test.ts';
const PEOPLE_TESTS = 'test/integration/principals-rules.test.ts';
const URI_TESTS = 'test/unit/base/uri-rules.test.ts';
const URI_PROPERTIES = 'test/property/uri-rules.test.ts';
const FILTER_TESTS = 'test/unit/catalog/resource-filter.test.ts';
const SHAPING_TESTS = 'test/integration/aggregate-shaping.test.ts';

export const catalogGuards: readonly Guard[] = [
  {
    name: 'policy/list',
    file: ANSWERS,
    find: 'const listing = yield* parts.visibility.of(principal, whole);',
    replace:
      'const listing = principal === undefined ? yield* parts.visibility.of(principal, whole) : whole;',
    test: [RULE_TESTS, 'G05 what a'],
  },
  {
    name: 'policy/list-of-cursor',
    file: ANSWERS,
    find: 'return older && (yield* visibility.of(principal, older));',
    replace:
      'return principal === undefined ? older && (yield* visibility.of(principal, older)) : older;',
    test: [RULE_TESTS, 'B15 a cursor'],
  },
  {
    name: 'policy/unknown-methods',
    file: ROUTES,
    find: 'if (!mayUse(item, context)) return denied(item, what',
    replace:
      'if (!context.parts.visibility.opens(context.principal, only.key)) return denied(item, what',
    test: [PEOPLE_TESTS, 'has no method that nobody knows'],
  },
  {
    name: 'policy/updates',
    file: LINKS,
    find: 'shows: (uri) => isShown(this, { key, uri }),',
    replace: 'shows: (uri) => isShown !== undefined && member.catalog.showsResource(uri),',
    test: [PEOPLE_TESTS, 'B18 is told of what the client may see'],
  },
  {
    name: 'policy/named',
    file: ROUTES,
    find: 'if (!parts.visibility.allowsEntry(principal, kind, entry)) {',
    replace: "if (principal === undefined || entry.upstream === '') {",
    test: [RULE_TESTS, 'G05 a tool'],
  },
  {
    name: 'policy/prompt',
    file: ROUTES,
    find: 'if (!parts.visibility.allowsEntry(principal, kind, entry)) {',
    replace: "if (kind === 'tool' && !parts.visibility.allowsEntry(principal, kind, entry)) {",
    test: [RULE_TESTS, 'G05 a prompt'],
  },
  {
    name: 'policy/resource',
    file: ROUTES,
    find: 'return catalog?.showsResource(uri) === true && parts.visibility.allows(principal, item);',
    replace:
      "return catalog?.showsResource(uri) === true && item.name !== '' && principal !== undefined;",
    test: [RULE_TESTS, 'G05 a resource'],
  },
  {
    name: 'policy/complete',
    file: ROUTES,
    find: 'toEntry(entry, value, frame, context),',
    replace:
      'toEntry(entry, value, frame, { ...context, parts: { ...context.parts, visibility: { allowsEntry: () => true } as never } }),',
    test: [RULE_TESTS, 'G05 a completion'],
  },
  {
    name: 'policy/listen',
    file: ROUTES,
    find: 'const resource = (owner: UriOwner): boolean => isShown(shownTo, owner);',
    replace: 'const resource = (owner: UriOwner): boolean => owner !== undefined;',
    test: [RULE_TESTS, 'G05 a listen stream'],
  },
  {
    name: 'policy/search',
    file: 'src/router/aggregate/search-service.ts',
    find: 'return await makeOfLists(parts.visibility.of(principal, listing));',
    replace:
      'return principal === undefined ? await makeOfLists(parts.visibility.of(principal, listing)) : listing;',
    test: [RULE_TESTS, 'G05 a search'],
  },
  {
    name: 'policy/server-legacy',
    file: LINKS,
    find: 'if (!this.parts.visibility.opens(this.principal, key)) return { client, lease: undefined };',
    replace: 'if (key === "") return { client, lease: undefined };',
    test: [RULE_TESTS, 'G02 a merged endpoint'],
  },
  {
    name: 'policy/server-modern',
    file: 'src/router/aggregate/request-leases.ts',
    find: "return visibility.opens(this.principal, members[index]?.key ?? '');",
    replace: 'return visibility !== undefined && index < members.length;',
    test: [RULE_TESTS, 'G02 a merged endpoint'],
  },
  {
    name: 'policy/hidden',
    file: VISIBILITY,
    find: 'this.#policy === undefined || this.#policy.hidesDenied',
    replace: 'this.#policy === undefined',
    test: [RULE_TESTS, 'G05 a tool'],
  },
  {
    name: 'policy/own-path',
    file: 'src/app/endpoints.ts',
    find: "const isOpen = parts.policy === undefined || backend.protocol === 'jsonrpc';",
    replace: "const isOpen = parts.policy !== null || backend.protocol === 'jsonrpc';",
    test: [RULE_TESTS, 'G05'],
  },
  {
    name: 'shaping/names',
    file: 'src/catalog/shaping.ts',
    find: 'if (!passesFilter(level, name)) return;',
    replace: 'passesFilter(level, name);',
    test: [SHAPING_TESTS, 'a modern client and a shaped modern server'],
  },
  {
    name: 'shaping/resources-listed',
    file: CATALOG,
    find: 'if (this.#resources.passes(entry.name)) shownEntries.push(asItIs(entry));',
    replace: 'shownEntries.push(asItIs(entry));',
    test: [SHAPING_TESTS, 'a modern client and a shaped modern server'],
  },
  {
    name: 'shaping/resources-used',
    file: ROUTES,
    find: 'return catalog?.showsResource(uri) === true && parts.visibility.allows(principal, item);',
    replace: 'return catalog !== undefined && parts.visibility.allows(principal, item);',
    test: [SHAPING_TESTS, 'a modern client and a shaped modern server'],
  },
  {
    name: 'shaping/fixed-arguments',
    file: 'src/catalog/shaping.ts',
    find: "if (rules.get(name)?.kind !== 'value') rules.set(name, { kind, text });",
    replace: 'rules.set(name, { kind, text });',
    test: ['test/unit/catalog/shaping.test.ts', "of a server can't be undone by an endpoint"],
  },
  {
    name: 'filter/dot-segments',
    file: URI_READING,
    find: 'const DOT = ',
    replace: 'const DOT = /(?!)/ ?? ',
    test: [URI_TESTS, 'has no reading'],
  },
  {
    name: 'filter/parameters-before-dots',
    file: URI_READING,
    find: "if (character === ';') break;",
    replace: "if (character === '') break;",
    test: [URI_TESTS, 'has no reading'],
  },
  {
    name: 'filter/escaped-separators',
    file: URI_READING,
    find: 'const ESCAPED_SEPARATOR = ',
    replace: 'const ESCAPED_SEPARATOR = /(?!)/ ?? ',
    test: [URI_TESTS, 'has no reading'],
  },
  {
    name: 'filter/look-alikes',
    file: URI_READING,
    find: 'const LOOK_ALIKE =',
    replace: 'const LOOK_ALIKE = /(?!)/ ??',
    test: [URI_TESTS, 'has no reading with a character'],
  },
  {
    name: 'filter/controls',
    file: URI_READING,
    find: 'const CONTROL = ',
    replace: 'const CONTROL = /(?!)/ ?? ',
    test: [URI_TESTS, 'has no reading'],
  },
  {
    name: 'filter/marks',
    file: URI_READING,
    find: 'const MANY_MARKS = ',
    replace: 'const MANY_MARKS = /(?!)/ ?? ',
    test: [URI_TESTS, 'has no reading'],
  },
  {
    name: 'filter/files-denied',
    file: URI_RULES,
    find: 'if (file === undefined || glob.file === undefined) return false;',
    replace: "if (file !== '' || glob.file === undefined) return false;",
    test: [FILTER_TESTS, 'denies'],
  },
  {
    name: 'filter/spellings-denied',
    file: URI_RULES,
    find: 'return new Set([uri, ...all.map(withLowerHost)]);',
    replace: 'return new Set([uri, ...all.slice(9).map(withLowerHost)]);',
    test: [URI_TESTS, 'is denied by'],
  },
  {
    name: 'filter/unreadable-denied',
    file: URI_RULES,
    find: 'if (reading === undefined) return globs.length > 0;',
    replace: 'if (reading === undefined) return false;',
    test: [URI_TESTS, 'has no reading'],
  },
  {
    name: 'filter/spellings-allowed',
    file: URI_RULES,
    find: 'all.some((glob) => matchesGlob(glob.normal, normal)) &&',
    replace: 'all.some((glob) => matchesGlob(glob.normal, uri)) &&',
    test: [URI_TESTS, 'is the same one'],
  },
  {
    name: 'filter/files-allowed',
    file: URI_RULES,
    find: '(file === undefined || all.some((glob) => allowsFile(glob, file)))',
    replace: '(file === undefined || all.length > 0)',
    test: [URI_TESTS, 'is allowed only with'],
  },
  {
    name: 'filter/unreadable-allowed',
    file: URI_RULES,
    find: 'if (reading === undefined) return false;',
    replace: 'if (reading === undefined) return globs.some((glob) => matchesGlob(glob, uri));',
    test: [URI_PROPERTIES, 'no server opens'],
  },
  {
    name: 'pins/enforce',
    file: CATALOG,
    find: 'return isWithheld ? accepted : entries;',
    replace: 'return isWithheld || accepted.length > 0 ? entries : [];',
    test: ['test/integration/access/pinned-tools.test.ts', 'M02'],
  },
  {
    name: 'pins/changed',
    file: 'src/catalog/pins/pins.ts',
    find: "return accepted.digest === digestOf(tool) ? 'pinned' : 'changed';",
    replace: "return accepted.digest !== '' && digestOf(tool) !== '' ? 'pinned' : 'changed';",
    test: ['test/unit/catalog/pins/pins.test.ts', 'does not hold for any other'],
  },
  {
    name: 'lists/private-servers',
    file: 'src/router/aggregate/view.ts',
    find: 'return isShared ? lists.last(method) : undefined;',
    replace: 'return isShared !== undefined ? lists.last(method) : undefined;',
    test: ['test/integration/aggregate-clients.test.ts', 'are shown to nobody else'],
  },
  {
    name: 'schema/no-network',
    file: 'src/catalog/validation/compile-schema.ts',
    find: 'const validate = validator.compile(rules);',
    replace:
      'for (const [url] of JSON.stringify(rules).matchAll(/http:[^"]+/g)) void fetch(url).catch(() => undefined);\n  const validate = validator.compile(rules);',
    test: ['test/integration/access/schema-references.test.ts', 'GW-159'],
  },
  {
    name: 'schema/bounds',
    file: 'src/catalog/validation/compile-schema.ts',
    find: 'if (beyond !== undefined) return { unusable: beyond };',
    replace: '',
    test: ['test/unit/catalog/validation/compile-schema.test.ts', ''],
  },
];
