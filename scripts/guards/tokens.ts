// Guards of access tokens and of what their issuers can do.
import type { Guard } from './guard.ts';

const AUTHENTICATOR = 'src/auth/authenticator.ts';
const TOKENS = 'src/auth/tokens.ts';
const ISSUER_KEYS = 'src/auth/issuer-keys.ts';
const SESSION = 'src/session/session.ts';
const CLAIM_TESTS = 'test/integration/access/claims.test.ts';
const TOKEN_TESTS = 'test/integration/access/tokens.test.ts';
const ISSUER_TESTS = 'test/integration/access/token-issuers.test.ts';

export const tokenGuards: readonly Guard[] = [
  {
    name: 'token/audience',
    file: AUTHENTICATOR,
    find: 'if (isMeantForUs) return token.principal;',
    replace: 'if (isMeantForUs || token.principal) return token.principal;',
    test: [TOKEN_TESTS, 'GW-151'],
  },
  {
    name: 'token/audience-of-endpoint',
    file: 'src/auth/protected-resource.ts',
    find: 'const own = paths.map((path) => `${root}${path}`);',
    replace: 'const own = paths.map((path) => `${root}${path.replace("/one/", "/two/")}`);',
    test: [TOKEN_TESTS, 'GW-151 D02 for an audience of another endpoint'],
  },
  {
    name: 'token/issuer',
    file: TOKENS,
    find: "const issuer = issuers.get(iss ?? '');",
    replace: "const issuer = issuers.get(iss ?? '') ?? [...issuers.values()][0];",
    also: [{ file: TOKENS, find: 'issuer: options.issuer,', replace: '' }],
    test: [TOKEN_TESTS, 'G06 of another issuer'],
  },
  {
    name: 'token/algorithm',
    file: TOKENS,
    find: 'algorithms: [...options.algorithms],',
    replace: '',
    test: [ISSUER_TESTS, 'G06 with an algorithm that is not listed'],
  },
  {
    name: 'token/expired',
    file: TOKENS,
    find: 'clockTolerance: options.clockSkew / 1_000,',
    replace: 'clockTolerance: 1e9,',
    test: [TOKEN_TESTS, 'G06 that is over'],
  },
  {
    name: 'token/expired-after-use',
    file: TOKENS,
    find: 'if (found === undefined || found.expiresAtMs > wallClockMs()) return found;',
    replace: 'if (found !== undefined) return found;',
    test: [ISSUER_TESTS, 'G08 is good no longer'],
  },
  {
    name: 'token/expired-streams',
    file: AUTHENTICATOR,
    find: 'return principal.expiresAtMs === undefined || principal.expiresAtMs > wallClockMs();',
    replace: 'return principal.kind !== undefined;',
    test: [ISSUER_TESTS, 'G08 is good no longer'],
  },
  {
    name: 'token/no-expiry',
    file: TOKENS,
    find: "requiredClaims: ['sub', 'exp', 'aud'],",
    replace: '',
    also: [
      {
        file: TOKENS,
        find: '!(Number(exp) * 1_000 <= nowMs + maxLifetime + clockSkew)',
        replace: '(exp ?? 0) * 1_000 > nowMs + maxLifetime + clockSkew',
      },
    ],
    test: [TOKEN_TESTS, 'G06 without an end'],
  },
  {
    name: 'token/lifetime',
    file: TOKENS,
    find: '!(Number(exp) * 1_000 <= nowMs + maxLifetime + clockSkew)',
    replace: 'nowMs < 0',
    test: [TOKEN_TESTS, 'G06 for ten years'],
  },
  {
    name: 'token/issued-ahead',
    file: TOKENS,
    find: 'iat !== undefined && !(iat * 1_000 <= nowMs + clockSkew)',
    replace: 'iat !== undefined && nowMs < 0',
    test: [ISSUER_TESTS, 'is told, counted and logged: issued_at'],
  },
  {
    name: 'token/subject',
    file: TOKENS,
    find: "typeof sub !== 'string' || sub === '' ||",
    replace: '',
    test: [TOKEN_TESTS, 'subject'],
  },
  {
    name: 'token/type',
    file: TOKENS,
    find: 'if (!TYPES.has(header.typ?.toLowerCase())) return wrongType(header.typ);',
    replace: '',
    test: [TOKEN_TESTS, 'G06 for something else'],
  },
  {
    name: 'token/twin-claims',
    file: TOKENS,
    find: "if (hasDuplicateKeys(token))\n      return new RefusedToken('malformed', { expected: 'no member twice' });",
    replace: '',
    test: [ISSUER_TESTS, 'G06 with a claim twice'],
  },
  {
    name: 'token/issuer-down',
    file: ISSUER_KEYS,
    find: 'if (statusCode !== 200) throw',
    replace: 'if (statusCode === 404) throw',
    test: [TOKEN_TESTS, 'G01 whose issuer can not be reached'],
  },
  {
    name: 'token/issuer-redirect',
    file: ISSUER_KEYS,
    find: 'if (statusCode !== 200) throw new Error(`the issuer answered ${statusCode}`);',
    replace:
      "if (statusCode === 302) return await downloadKeys(new URL(String(headers['location']), url), proxies);",
    also: [
      {
        file: ISSUER_KEYS,
        find: 'const { statusCode, body } = await pool.request({',
        replace: 'const { statusCode, headers, body } = await pool.request({',
      },
    ],
    test: [ISSUER_TESTS, 'D04 whose issuer redirects'],
  },
  {
    name: 'token/issuer-document-size',
    file: ISSUER_KEYS,
    find: 'bytes.length > MAX_BYTES) throw',
    replace: 'bytes.length > MAX_BYTES * MAX_BYTES) throw',
    test: [ISSUER_TESTS, 'F78 whose issuer sends too much'],
  },
  {
    name: 'token/issuer-flood',
    file: ISSUER_KEYS,
    find: 'monotonicMs() - this.#triedMs >= cooldownMs;',
    replace: 'cooldownMs > 0;',
    test: [TOKEN_TESTS, 'made-up keys are not asked for again'],
  },
  {
    name: 'principal/parts',
    file: 'src/auth/principal-key.ts',
    find: '`${part.length}:${part}`',
    replace: 'part',
    test: ['test/unit/auth/principal-key.test.ts', 'B06'],
  },
  {
    name: 'principal/client',
    file: TOKENS,
    find: "principalKey('token', [iss, sub, clientId])",
    replace: "principalKey('token', [iss, sub, clientId && ''])",
    test: [TOKEN_TESTS, 'GW-155 B06 of somebody else'],
  },
  {
    name: 'principal/subject',
    file: TOKENS,
    find: "principalKey('token', [iss, sub, clientId])",
    replace: "principalKey('token', [iss, clientId])",
    test: [TOKEN_TESTS, 'GW-155 B06 of somebody else'],
  },
  {
    name: 'session/proof',
    file: SESSION,
    find: 'if (endpoint.credentialFingerprint(principal) !== endpoint.credentialFingerprint(before)) {\n      return false;\n    }',
    replace: '',
    test: [CLAIM_TESTS, 'of a process of the principal'],
  },
  {
    name: 'session/proof-of-stream',
    file: 'src/session/channel-modern.ts',
    find: 'if (endpoint.credentialFingerprint(principal) !== endpoint.credentialFingerprint(before))\n      return false;',
    replace: '',
    also: [
      {
        file: SESSION,
        find: 'if (endpoint.credentialFingerprint(principal) !== endpoint.credentialFingerprint(before)) {\n      return false;\n    }',
        replace: '',
      },
    ],
    test: [CLAIM_TESTS, 'of HTTP+SSE takes messages with equal claims only'],
  },
  {
    name: 'session/proof-of-plain',
    file: 'src/listener/plain-post.ts',
    find: ' ${endpoint.credentialFingerprint(call.principal)}`;',
    replace: '`;',
    test: [CLAIM_TESTS, 'has a process for each proof'],
  },
  {
    name: 'session/proof-of-exchange',
    file: 'src/upstream/credential-fingerprint.ts',
    find: 'if (isTokenExchange(options)) return exchanged(principal);',
    replace: 'if (isTokenExchange(options)) return [...(principal.scopes ?? [])];',
    test: [CLAIM_TESTS, 'a session is not found with a token of another tenant'],
  },
];
