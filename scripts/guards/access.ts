// Guards of who somebody is and what they may open: keys, tickets, rules, and sessions and streams that belong
// to somebody.
import type { Guard } from './guard.ts';

const SERVER = 'src/listener/http-server.ts';
const GATEKEEPER = 'src/listener/gatekeeper.ts';
const PRESENTED = 'src/listener/presented.ts';
const AUTHENTICATOR = 'src/auth/authenticator.ts';
const KEY_RING = 'src/auth/key-ring.ts';
const KEY_FILE = 'src/auth/key-file.ts';
const TICKETS = 'src/auth/tickets.ts';
const POLICY = 'src/auth/policy.ts';
const STORE = 'src/session/session-store.ts';
const SESSION = 'src/session/session.ts';
const SSE = 'src/listener/http-sse/routes.ts';
const KEY_TESTS = 'test/integration/access/api-keys.test.ts';
const ISSUER_TESTS = 'test/integration/access/token-issuers.test.ts';
const FILE_TESTS = 'test/unit/auth/key-file.test.ts';
const REVOCATION_TESTS = 'test/integration/access/revocation.test.ts';
const RULE_TESTS = 'test/integration/principals-rules.test.ts';
const TICKET_TESTS = 'test/unit/auth/tickets.test.ts';
const POLICY_TESTS = 'test/unit/auth/policy.test.ts';

export const accessGuards: readonly Guard[] = [
  {
    name: 'audit/required',
    file: 'src/session/session.ts',
    find: 'const { refusal } = this.served.meter;',
    replace: 'const refusal = undefined;',
    also: [
      {
        file: 'src/session/modern-requests.ts',
        find: 'const { refusal } = meter;',
        replace: 'const refusal = undefined;',
      },
    ],
    test: ['test/integration/access/audit-file.test.ts', 'could not be written'],
  },
  {
    name: 'audit/moved',
    file: 'src/observe/audit-file.ts',
    find: 'this.#fd = this.#open(path);\n        closeSync(before);',
    replace: 'void closeSync;\n        void before;',
    test: ['test/integration/access/audit-file.test.ts', 'is made anew'],
  },
  {
    name: 'audit/links',
    file: 'src/observe/audit-file.ts',
    find: '  constants.O_NOFOLLOW |\n',
    replace: '',
    test: ['test/integration/access/audit-file.test.ts', 'that becomes a symbolic link'],
  },
  {
    name: 'audit/whole-lines',
    file: 'src/observe/line-writer.ts',
    find: 'ftruncateSync(fd, found.size - bytes);',
    replace: 'void ftruncateSync;\n    void bytes;',
    test: ['test/integration/access/audit-file.test.ts', 'has whole lines'],
  },
  {
    name: 'credentials/missing',
    file: GATEKEEPER,
    find: 'if (guards === undefined) return ADMIT_ANYBODY;',
    replace:
      'if (guards === undefined || request.headers.authorization === undefined) return ADMIT_ANYBODY;',
    test: [KEY_TESTS, 'GW-155 B07 G04 G07 none gets 401'],
  },
  {
    name: 'credentials/in-address',
    file: PRESENTED,
    find: "const { authorization, 'x-api-key': apiKey } = request.headers;",
    replace: `const { 'x-api-key': apiKey } = request.headers;
  const [, inAddress] = /[?&]access_token=([^&]+)/.exec(request.url ?? '') ?? [];
  const { authorization = inAddress && \`Bearer \${inAddress}\` } = request.headers;`,
    test: [KEY_TESTS, 'GW-153'],
  },
  {
    name: 'credentials/two',
    file: AUTHENTICATOR,
    find: "if (apiKey !== undefined) return '';",
    replace: '',
    test: [KEY_TESTS, 'two different ones gets 401'],
  },
  {
    name: 'credentials/scheme',
    file: AUTHENTICATOR,
    find: "return BEARER.exec(authorization)?.[1] ?? '';",
    replace: "return BEARER.exec(authorization)?.[1] ?? authorization.split(' ').at(-1);",
    test: [KEY_TESTS, 'scheme gets 401'],
  },
  {
    name: 'credentials/failed-logins',
    file: GATEKEEPER,
    find: '? this.#failures.take(this.#networkOf(request), monotonicMs())',
    replace: '? 0',
    test: ['test/integration/access/listeners.test.ts', 'G10 tells the address'],
  },
  {
    name: 'key/secret',
    file: KEY_RING,
    find: 'this.#byHash.get(hashApiKey(key));',
    replace: "this.#byHash.get(hashApiKey(key)) ?? this.#byId.get(key.split('_')[1] ?? '');",
    test: [KEY_TESTS, 'another secret under a known id'],
  },
  {
    name: 'key/expired',
    file: KEY_RING,
    find: 'return principal !== undefined && isFresh(principal) ? principal : undefined;',
    replace: 'return principal;',
    test: [KEY_TESTS, 'an expired one gets 401'],
  },
  {
    name: 'key/revoked',
    file: KEY_RING,
    find: '    this.#byHash = byHash;',
    replace: '    this.#byHash = new Map([...this.#byHash, ...byHash]);',
    test: [KEY_TESTS, 'G08'],
  },
  {
    name: 'key/revoked-streams',
    file: 'src/listener/open-streams.ts',
    find: 'if (!this.#rules.holds(openStream.principal)) openStream.end();',
    replace: 'void openStream;',
    test: [KEY_TESTS, 'G08 gets 401 at once'],
  },
  {
    name: 'key/revoked-sessions',
    file: 'src/auth/authenticator.ts',
    find: "return principal.kind === 'key' ? !this.holds(principal) :",
    replace: "return principal.kind === 'key' ? false :",
    test: [KEY_TESTS, 'G08'],
  },
  {
    name: 'key/revoked-parks',
    file: 'src/app/access.ts',
    find: 'suspended.endOf(isGone);',
    replace: '',
    test: [KEY_TESTS, 'G08 ends with the key'],
  },
  {
    name: 'key/runs-out',
    file: 'src/listener/stream-timers.ts',
    find: 'this.#sweep();',
    replace: '',
    test: [KEY_TESTS, 'G08 ends when the key runs out'],
  },
  {
    name: 'key/file-mode',
    file: KEY_FILE,
    find: 'if ((found.mode & (OTHERS_MAY_READ | OTHERS_MAY_WRITE)) !== 0) {',
    replace: 'if (found.mode === 0) {',
    test: [FILE_TESTS, 'A05 with mode'],
  },
  {
    name: 'key/file-empty',
    file: KEY_RING,
    find: 'if (keys === undefined || keys.length === 0) {',
    replace: 'if (keys === undefined) {',
    test: [FILE_TESTS, 'G01 with'],
  },
  {
    name: 'key/file-expiry',
    file: KEY_FILE,
    find: "if (typeof expires !== 'string' || Number.isNaN(Date.parse(expires))) return undefined;",
    replace: "if (typeof expires !== 'string') return undefined;",
    test: [FILE_TESTS, 'G01 with'],
  },
  {
    name: 'key/file-written-closed',
    file: KEY_FILE,
    find: "openSync(next, 'wx', OWNER_ONLY)",
    replace: "openSync(next, 'wx', OWNER_ONLY | OTHERS_MAY_READ)",
    test: [FILE_TESTS, 'shows a key once and keeps its hash only'],
  },
  {
    name: 'ticket/once',
    file: TICKETS,
    find: 'this.#open.delete(ticket);',
    replace: '',
    test: [KEY_TESTS, 'opens one WebSocket, once'],
  },
  {
    name: 'ticket/endpoint',
    file: TICKETS,
    find: 'found?.endpoint === endpoint && found.endMs',
    replace: 'found !== undefined && endpoint !== undefined && found.endMs',
    test: [KEY_TESTS, 'B10 a ticket is good at its endpoint only'],
  },
  {
    name: 'ticket/expiry',
    file: TICKETS,
    find: '&& found.endMs > monotonicMs();',
    replace: ';',
    test: [TICKET_TESTS, 'half a minute'],
  },
  {
    name: 'ticket/caps',
    file: TICKETS,
    find: 'if (own >= MAX_PER_PRINCIPAL || this.#open.size >= MAX_TICKETS) return undefined;',
    replace: '',
    test: [TICKET_TESTS, 'bounded'],
  },
  {
    name: 'ticket/browsers-only',
    file: PRESENTED,
    find: "if (method !== 'GET' || url === undefined || !BROWSER_PATH.test(url)) return undefined;",
    replace: 'if (method === undefined || url === undefined) return undefined;',
    test: [KEY_TESTS, 'is good for nothing else'],
  },
  {
    name: 'ticket/revoked-holder',
    file: GATEKEEPER,
    find: 'holder !== undefined && guards.authenticator.holds(holder)',
    replace: 'holder !== undefined',
    test: [KEY_TESTS, 'G08 the ticket of a revoked key'],
  },
  {
    name: 'rules/endpoint',
    file: GATEKEEPER,
    find: 'if (!isOpenTo(guards.policy, route.served.endpoint, identity)) {',
    replace: 'if (route === undefined) {',
    test: [KEY_TESTS, 'G02 an endpoint of a server that is not allowed'],
  },
  {
    name: 'rules/groups',
    file: POLICY,
    find: 'who.groups.length === 0 || who.groups.some((group) => groups?.has(group));',
    replace: 'who.groups.length === 0 || groups !== null;',
    test: [POLICY_TESTS, 'is for'],
  },
  {
    name: 'rules/keys',
    file: POLICY,
    find: "(kind === 'key' && who.keys.some((key) => key === keyId || key === name));",
    replace: 'who.keys.some((key) => key === keyId || key === name);',
    test: [POLICY_TESTS, 'is for'],
  },
  {
    name: 'rules/scopes',
    file: POLICY,
    find: 'return who.scopes.every((scope) => principal.scopes?.has(scope) === true);',
    replace:
      'return who.scopes.some((scope) => principal.scopes?.has(scope)) || who.scopes.length === 0;',
    test: [POLICY_TESTS, 'is for'],
  },
  {
    name: 'rules/server',
    file: POLICY,
    find: 'if (!names(rule.servers, item.server)) return false;',
    replace: '',
    test: [POLICY_TESTS, 'G02'],
  },
  {
    name: 'rules/kind',
    file: POLICY,
    find: 'return rule.tools === undefined && rule.prompts === undefined && rule.resources === undefined;',
    replace: 'return true;',
    test: [POLICY_TESTS, 'allows none of the others'],
  },
  {
    name: 'rules/plain-servers',
    file: GATEKEEPER,
    find: "? policy.allows(principal, { server, kind: 'method', name: '*' })",
    replace: '? policy.opens(principal, server)',
    test: [RULE_TESTS, 'is open to who may use everything of it'],
  },
  {
    name: 'rules/spellings-of-resources',
    file: POLICY,
    find: "return item.kind === 'resource' ? allowsUri(list, item.name) : names(list, item.name);",
    replace: 'return names(list, item.name) || (allowsUri(list, item.name) && false);',
    test: ['test/integration/access/rules.test.ts', 'G05 a resource'],
  },
  {
    name: 'rules/paths-for-strangers',
    file: SERVER,
    find: 'if (gatekeeper.isOn && !isPublic) return false;',
    replace: 'if (gatekeeper.isOn && request.url === undefined) return false;',
    test: [KEY_TESTS, 'A08 G05 with no key'],
  },
  {
    name: 'rules/paths-of-upgrades',
    file: SERVER,
    find: '} else if (route === undefined && !this.#context.gatekeeper.isOn) {',
    replace: '} else if (route === undefined) {',
    test: [KEY_TESTS, 'A06 A08 when they ask for a WebSocket'],
  },
  {
    name: 'rules/tickets-for-strangers',
    file: GATEKEEPER,
    find: 'const ticket = ticketOf(request);',
    replace: 'const ticket = route && ticketOf(request);',
    test: ['test/integration/access/tokens.test.ts', 'GW-150 A08 a path that does not exist'],
  },
  {
    name: 'rules/paths-told',
    file: GATEKEEPER,
    find: 'return principal !== undefined && isOpenTo(guards.policy, route.served.endpoint, principal);',
    replace: 'return principal !== undefined;',
    test: [RULE_TESTS, 'A08 G02 leads to no server'],
  },
  {
    name: 'rules/hidden-endpoint',
    file: GATEKEEPER,
    find: 'policy.hidesDenied ? { nothingFor: principal } :',
    replace: 'policy.hidesDenied ? { refusal: REFUSALS.notFound } :',
    test: [RULE_TESTS, 'A08 G02 leads to no server'],
  },
  {
    name: 'rules/hidden-scopes',
    file: 'src/router/aggregate/visibility.ts',
    find: 'this.#policy === undefined || this.#policy.hidesDenied',
    replace: 'this.#policy === undefined',
    test: ['test/integration/access/rules.test.ts', 'G05 what more scopes would open'],
  },
  {
    name: 'session/principal',
    file: SESSION,
    find: 'if (principal.key !== before.key) return false;',
    replace: 'if (principal.key === undefined) return false;',
    test: [KEY_TESTS, 'GW-155 B06 the session of somebody else'],
  },
  {
    name: 'session/principal-stream',
    file: SESSION,
    find: 'if (principal.key !== before.key) return false;',
    replace: 'if (principal.key === undefined) return false;',
    test: [KEY_TESTS, 'B08'],
  },
  {
    name: 'session/endpoint',
    file: STORE,
    find: 'if (session?.endpoint !== endpoint ||',
    replace: 'if (session === undefined || endpoint === undefined ||',
    test: ['test/integration/legacy-http.test.ts', 'GW-053 of another server'],
  },
  {
    name: 'session/sse-principal',
    file: SSE,
    find: ' || !stream.channel.continueAs(call.principal)) {',
    replace: ') {',
    test: [KEY_TESTS, 'opens one event stream'],
  },
  {
    name: 'session/sse-endpoint',
    file: SSE,
    find: 'const isHere = stream?.served.name === served.name;',
    replace: 'const isHere = stream !== undefined;',
    test: [KEY_TESTS, 'B10 an event stream takes messages at its endpoint only'],
  },
  {
    name: 'session/unguessable',
    file: 'src/session/session-ids.ts',
    find: "return randomBytes(RANDOM_BYTES).toString('base64url');",
    replace: "return randomBytes(4).toString('base64url');",
    test: ['test/unit/session/session-store.test.ts', 'B09'],
  },
  {
    name: 'session/websocket-end',
    file: 'src/listener/websocket/upgrade.ts',
    find: 'if (!gatekeeper.holds(principal)) {',
    replace: 'if (gatekeeper === undefined) {',
    also: [
      {
        file: 'src/listener/open-streams.ts',
        find: 'if (!this.#rules.holds(openStream.principal)) openStream.end();',
        replace: 'void openStream;',
      },
    ],
    test: [ISSUER_TESTS, 'G08 B06 each message'],
  },
  {
    name: 'revocation/slow-body',
    file: SERVER,
    find: 'const late = this.#context.gatekeeper.recheck(raw, admitted.route, admitted.principal);',
    replace: 'const late = undefined;',
    test: [REVOCATION_TESTS, 'G08 does not let in a body'],
  },
  {
    name: 'revocation/rights-of-files',
    file: 'src/base/watched-files.ts',
    find: '${found.ctimeNs}',
    replace: '${found.size}',
    test: [REVOCATION_TESTS, 'G08 is read again'],
  },
  {
    name: 'limits/batches',
    file: 'src/auth/token-buckets.ts',
    find: 'this.#filled(name, nowMs).tokens -= count;',
    replace: 'this.#filled(name, nowMs);',
    test: ['test/integration/access/limits.test.ts', 'G10 each message of a batch'],
  },
];
