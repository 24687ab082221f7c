// Guards of a start: what is refused before anything listens.
import type { Guard } from './guard.ts';

const EXPOSURE = 'src/config/exposure.ts';
const AUTH_OPTIONS = 'src/auth/options.ts';
const TESTS = 'test/unit/config/exposure.test.ts';

export const configurationGuards: readonly Guard[] = [
  {
    name: 'start/unauthenticated',
    file: EXPOSURE,
    find: "if (isOpen && auth === undefined && listen['allowUnauthenticated'] !== true) {",
    replace: 'if (isOpen === undefined) {',
    test: [TESTS, 'needs authentication, or a permission'],
  },
  {
    name: 'start/clear-text',
    file: EXPOSURE,
    find: 'if (isOpen && auth !== undefined && tls === undefined && tlsTerminatedUpstream !== true) {',
    replace: 'if (isOpen === undefined) {',
    test: [TESTS, 'needs encryption with authentication'],
  },
  {
    name: 'start/public-url',
    file: EXPOSURE,
    find: 'if (auth.issuers.length > 0 && publicUrl === undefined) {',
    replace: 'if (publicUrl === null) {',
    test: [TESTS, 'jwksUrl: "https://i/keys"'],
  },
  {
    name: 'start/client-certificates',
    file: EXPOSURE,
    find: 'if (auth.certificates.length > 0 && !asksForCertificates(tls)) {',
    replace: 'if (auth.certificates.length < 0 && !asksForCertificates(tls)) {',
    test: [TESTS, 'auth: { certificates:'],
  },
  {
    name: 'start/some-source',
    file: AUTH_OPTIONS,
    find: '.refine((value) => hasSource(value), {',
    replace: '.refine((value) => hasSource(value) || value !== undefined, {',
    test: [TESTS, 'auth: { issuers: []'],
  },
  {
    name: 'start/some-rule',
    file: AUTH_OPTIONS,
    find: `.refine((value) => value.length > 0, { error: 'must be a list of at least one rule' })`,
    replace: '',
    test: [TESTS, 'allow: []'],
  },
  {
    name: 'start/algorithms',
    file: AUTH_OPTIONS,
    find: "  'EdDSA',\n] as const;",
    replace: "  'EdDSA',\n  'HS256',\n] as const;",
    test: [TESTS, 'algorithms: [HS256]'],
  },
  {
    name: 'start/issuer-url',
    file: 'src/base/options.ts',
    find: "return protocol === 'https:' || isLoopbackHost(",
    replace: "return protocol === 'https:' || Boolean(",
    test: [TESTS, 'issuer: "http://i"'],
  },
  {
    name: 'start/loopback-by-default',
    file: 'src/listener/options.ts',
    find: "host: address().prefault('127.0.0.1').meta({",
    replace: "host: address().prefault('localhost.example').meta({",
    test: [TESTS, 'GW-158'],
  },
  {
    name: 'start/aliases',
    file: 'src/config/document.ts',
    find: 'const MAX_ALIASES = 100;',
    replace: 'const MAX_ALIASES = -1;',
    test: ['test/unit/config/load.test.ts', 'with multiplying aliases'],
  },
  {
    name: 'start/unknown-keys',
    file: 'src/base/options.ts',
    find: 'return z.strictObject(shape, {',
    replace: 'return (z.object as unknown as typeof z.strictObject)(shape, {',
    test: [TESTS, 'auth: { key:'],
  },
  {
    name: 'start/comments',
    file: 'src/config/syntax/syntax.ts',
    find: 'if (isNamedJson || STARTS_AS_JSON.test(text)) {',
    replace: 'if (isNamedJson && STARTS_AS_JSON.test(file)) {',
    test: ['test/unit/config/syntaxes.test.ts', 'a server in one is not started'],
  },
  {
    name: 'start/off-stays-off',
    file: 'src/config/hosts/switches.ts',
    find: "['enabled', false],",
    replace: "['enabled', true],",
    test: ['test/unit/config/host-file.test.ts', 'may be enabled or isActive'],
  },
  {
    name: 'start/hosts-tools',
    file: 'src/config/hosts/keys.ts',
    find: "['disabledTools', 'deny'],",
    replace: "['disabledTools', 'allow'],",
    test: ['test/unit/config/hosts.test.ts', 'Windsurf'],
  },
  {
    name: 'start/hosts-unknown-keys',
    file: 'src/config/hosts/entry.ts',
    find: "else this.#refuse(path, unknownHostKey(key), 'key');",
    replace: "else if (key === '') this.#refuse(path, unknownHostKey(key), 'key');",
    test: ['test/unit/config/host-file.test.ts', 'a key that no host is known for'],
  },
];
