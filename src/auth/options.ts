// What a user may say about who may come in (`auth:`): the types after load, and the schemas that make
// them from the file.
import type { z } from 'zod';
import { isLoopbackHost } from '../base/loopback.ts';
import { duration, isMap, list, oneOf, section, text } from '../base/options.ts';

/** Signatures that can be checked with a public key. Anything else is refused, `none` and HMAC first. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

/** One authorization server whose tokens are accepted. */
export interface IssuerOptions {
  /** As it stands in `iss`, compared exactly. */
  readonly issuer: string;
  readonly jwksUrl: string;
  /** Values of `aud` that are accepted on every endpoint, besides the endpoint's own address. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly groupsClaim: string;
  readonly tokenType: 'any' | 'at+jwt';
  readonly maxLifetimeMs: number;
  readonly clockSkewMs: number;
}

/** Client certificates that are principals. */
export interface CertificateOptions {
  /** Glob over subject alternative names as Node writes them, `DNS:a.example`. */
  readonly san: string;
  readonly groups: readonly string[];
}

/** What one rule allows. */
export interface AllowRule {
  readonly who: {
    readonly groups: readonly string[];
    readonly scopes: readonly string[];
    /** Ids or names. */
    readonly keys: readonly string[];
  };
  /** Globs, as are the others. */
  readonly servers: readonly string[];
  readonly tools: readonly string[] | undefined;
  readonly prompts: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
}

export type DeniedForm = 'hide' | 'challenge';

/** Authentication that is on. */
export interface AuthOptions {
  /** Absolute path of the file of API keys. */
  readonly keyFile: string | undefined;
  readonly issuers: readonly IssuerOptions[];
  readonly certificates: readonly CertificateOptions[];
  readonly allow: readonly AllowRule[];
  readonly onDenied: DeniedForm;
  /** Whether verified tokens are kept for an exchange, since a server is called in their name. */
  readonly keepsTokens: boolean;
}

const word = text('text').refine((value) => value !== '', { error: 'must not be empty' });

function words(what: string): z.ZodArray<z.ZodString> {
  return list(word, `a list of ${what}`);
}

function some(what: string): z.ZodType<string[], string[]> {
  return words(what).refine((value) => value.length > 0, {
    error: `must be a list of at least one of ${what}`,
  });
}

const secureUrl = text('a URL').refine(isSecureUrl, {
  error: 'must be an https URL without user, query or fragment (http only on loopback)',
});

const issuer = section({
  issuer: secureUrl.meta({
    description:
      'Issuer identifier of the authorization server. Must equal the `iss` claim of its tokens.',
  }),
  jwksUrl: text('a URL')
    .refine(isKeysUrl, {
      error: 'must be an https URL without user or fragment (http only on loopback)',
    })
    .meta({
      description:
        'URL of its public keys (JWKS). Redirects are not followed. Key URLs in tokens are ignored.',
    }),
  audiences: words('audiences').prefault([]).meta({
    description:
      'Values of the `aud` claim to accept on every endpoint, besides `listen.publicUrl` and the URL of the endpoint. They must match exactly.',
  }),
  algorithms: list(oneOf(ALGORITHMS), 'a list of algorithms')
    .refine((value) => value.length > 0, { error: 'must be a list of at least one algorithm' })
    .prefault(['RS256', 'PS256', 'ES256', 'EdDSA'])
    .meta({ description: 'Signature algorithms to accept.' }),
  groupsClaim: word.prefault('groups').meta({
    description: 'Claim with the groups of the user. `allow` refers to them.',
  }),
  tokenType: oneOf(['any', 'at+jwt']).prefault('any').meta({
    description: '`at+jwt` accepts only tokens of that type (RFC 9068).',
  }),
  maxLifetime: duration(1000).prefault('24h').meta({
    description: 'Longest lifetime of a token. Tokens that are valid for longer are refused.',
  }),
  clockSkew: duration(0).prefault('60s').meta({
    description: 'Largest difference between the clocks of issuer and gateway.',
  }),
}).transform(
  ({ maxLifetime, clockSkew, ...rest }): IssuerOptions => ({
    ...rest,
    maxLifetimeMs: maxLifetime,
    clockSkewMs: clockSkew,
  }),
);

const certificate = section({
  san: word.meta({
    description:
      'Subject alternative name, such as `DNS:client.example` or `URI:spiffe://x/*`. `*` matches any text.',
  }),
  groups: words('groups')
    .prefault([])
    .meta({ description: 'Groups of the principal. `allow` refers to them.' }),
});

const who = section({
  groups: words('groups')
    .prefault([])
    .meta({ description: 'The principal is in one of these groups.' }),
  scopes: words('scopes')
    .prefault([])
    .meta({ description: 'The access token or key has all of these scopes.' }),
  keys: words('keys').prefault([]).meta({
    description: 'The principal uses one of these API keys, given by id or name.',
  }),
});

const globs = (what: string): z.ZodOptional<z.ZodArray<z.ZodString>> => words(what).optional();

const allowRule = section({
  who: who.prefault({}).meta({
    description:
      'Whom the rule is for. All given conditions must be true. Default: all principals.',
  }),
  servers: some('server names').meta({ description: 'Names of servers. `*` matches any text.' }),
  tools: globs('tool names').meta({
    description:
      'Names of tools, as the server names them. `*` matches any text. A rule without `tools`, `prompts` and `resources` allows all of them. A rule with one of them allows only what it lists. Methods that are not part of MCP, and `jsonrpc` servers, need a rule without the three.',
  }),
  prompts: globs('prompt names').meta({ description: 'Names of prompts. `*` matches any text.' }),
  resources: globs('URIs').meta({ description: 'URIs of resources. `*` matches any text.' }),
}).transform(
  ({ tools, prompts, resources, ...rest }): AllowRule => ({ ...rest, tools, prompts, resources }),
);

/** `auth:` when it is not `none`. Paths are made absolute by config/resolve.ts. */
export const authSchema = section({
  keys: section({
    file: word.meta({
      description:
        'The key file that `sluice keys` writes. A relative path is relative to the configuration file. Read again when it changes.',
    }),
  })
    .optional()
    .meta({ description: 'API keys, sent as `Authorization: Bearer KEY` or `X-API-Key: KEY`.' }),
  issuers: list(issuer, 'a list of issuers').prefault([]).meta({
    description: 'Authorization servers whose access tokens (JWT) are accepted.',
  }),
  certificates: list(certificate, 'a list of certificates').prefault([]).meta({
    description: 'Client certificates to accept. Needs `listen.tls.clientCa`.',
  }),
  allow: list(allowRule, 'a list of rules')
    .refine((value) => value.length > 0, { error: 'must be a list of at least one rule' })
    .meta({
      description:
        'Rules: who may use what. Everything that no rule allows is denied. `[{ servers: ["*"] }]` lets every principal use everything.',
    }),
  onDenied: oneOf(['hide', 'challenge']).prefault('hide').meta({
    description:
      '`hide` answers as if the denied tool, prompt, resource or endpoint did not exist. `challenge` answers 403 and names the scopes that an access token lacks. Scopes that a whole endpoint needs are always named.',
  }),
})
  .refine((value) => hasSource(value), {
    when: isMap,
    error: 'must have keys, issuers or certificates: otherwise nobody could come in',
  })
  .transform(
    ({ keys, ...rest }): AuthOptions => ({ keyFile: keys?.file, ...rest, keepsTokens: false }),
  );

interface Sources {
  readonly keys?: unknown;
  readonly issuers?: unknown;
  readonly certificates?: unknown;
}

function hasSource({ keys, issuers, certificates }: Sources): boolean {
  const has = (value: unknown): boolean => !Array.isArray(value) || value.length > 0;
  return keys !== undefined || has(issuers) || has(certificates);
}

function isSecureUrl(value: string): boolean {
  return isKeysUrl(value) && !value.includes('?');
}

function isKeysUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '' || value.includes('#'))
    return false;
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(name));
}
