// Options of authentication and rules (`auth:`).
import type { z } from 'zod';
import {
  duration,
  filledText,
  isMap,
  isSecureUrl,
  list,
  type Options,
  oneOf,
  section,
  text,
} from '../base/options.ts';

/** Signatures that are checked with a public key. All others are refused, `none` and HMAC in particular. */
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

const word = filledText('text', 'must not be empty');

function words(what: string): z.ZodArray<z.ZodString> {
  return list(word, `a list of ${what}`);
}

function some(what: string): z.ZodType<string[], string[]> {
  return words(what).refine((value) => value.length > 0, {
    error: `must be a list of at least one of ${what}`,
  });
}

const issuer = section({
  issuer: text('a URL')
    .refine((value) => isSecureUrl(value, /[?#]/), {
      error: 'must be an https URL without user, query or fragment (http only on loopback)',
    })
    .meta({
      description:
        'Issuer identifier of the authorization server. Must equal the `iss` claim of its tokens.',
    }),
  jwksUrl: text('a URL')
    .refine((value) => isSecureUrl(value, /#/), {
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
});

/** One authorization server whose tokens are accepted. */
export type IssuerOptions = Options<typeof issuer>;

const certificate = section({
  san: word.meta({
    description:
      'Subject alternative name, such as `DNS:client.example` or `URI:spiffe://x/*`. `*` matches any text.',
  }),
  groups: words('groups')
    .prefault([])
    .meta({ description: 'Groups of the principal. `allow` refers to them.' }),
});

/** Client certificates that are principals. */
export type CertificateOptions = Options<typeof certificate>;

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
  servers: some('server names').describe('Names of servers. `*` matches any text.'),
  tools: globs('tool names').meta({
    description:
      'Names of tools, as the server names them. `*` matches any text. A rule without `tools`, `prompts` and `resources` allows all of them. A rule with one of them allows only what it lists. Methods that are not part of MCP, and `jsonrpc` servers, need a rule without the three.',
  }),
  prompts: globs('prompt names').describe('Names of prompts. `*` matches any text.'),
  resources: globs('URIs').describe('URIs of resources. `*` matches any text.'),
});

/** What one rule allows. */
export type AllowRule = Options<typeof allowRule>;

/** `auth:` when it is not `none`. */
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
}).refine((value) => hasSource(value), {
  when: isMap,
  error: 'must have keys, issuers or certificates: otherwise no client could authenticate',
});

/** Authentication that is enabled. Paths are absolute. */
export interface AuthOptions extends Options<typeof authSchema> {
  /** Whether verified tokens are kept, because they are exchanged for tokens for a server. */
  readonly keepsTokens?: boolean;
}
export type DeniedForm = AuthOptions['onDenied'];

interface Sources {
  readonly keys?: unknown;
  readonly issuers?: unknown;
  readonly certificates?: unknown;
}

function hasSource({ keys, issuers, certificates }: Sources): boolean {
  const has = (value: unknown): boolean => !Array.isArray(value) || value.length > 0;
  return keys !== undefined || has(issuers) || has(certificates);
}
