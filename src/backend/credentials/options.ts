// What a user may say about how the gateway authenticates at a remote server: OAuth at a token endpoint
// that is configured, never found (docs/reliability.md#d07), and certificates.
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { type LiveText, parseLiveText } from '../../base/live-text.ts';
import { isLoopbackHost } from '../../base/loopback.ts';
import { isMap, oneOf, section, text } from '../../base/options.ts';

/** How tokens are got. */
export interface OAuthOptions {
  /** In the gateway's own name (RFC 6749 4.4), or in the name of each client (RFC 8693). */
  readonly type: 'client_credentials' | 'token_exchange';
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Undefined where a certificate does instead. */
  readonly clientSecret: LiveText | undefined;
  /** How id and secret are sent (RFC 6749 2.3.1), or `tls.cert` in place of the secret (RFC 8705 2). */
  readonly clientAuth: 'basic' | 'post' | 'certificate';
  readonly scope: string | undefined;
  readonly audience: string | undefined;
  /** RFC 8707. */
  readonly resource: string | undefined;
  /** Of the client's token; only for an exchange. */
  readonly subjectTokenType: 'access_token' | 'jwt';
  /** Absolute path of certificates that are trusted at the token endpoint instead of the system's. */
  readonly ca: string | undefined;
}

/** Files of certificates; absolute paths. */
export interface RemoteTls {
  /** Trusted instead of the system's. */
  readonly ca: string | undefined;
  /** The gateway's own, with its key. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const TOKEN_URL =
  'must be an https URL without user name, query and fragment; http only for this machine';

const file = text('a file').min(1, { error: 'must be a file' });

/** `auth:` */
export const oauthSchema = section({
  type: oneOf(['client_credentials', 'token_exchange']).meta({
    description:
      '`client_credentials` gets one token for the gateway. `token_exchange` exchanges the access token of each client for a token that the server accepts (RFC 8693); it needs `sharing: principal` or `sharing: session`.',
  }),
  tokenUrl: text('an https URL').refine(isTokenUrl, { error: TOKEN_URL }).meta({
    description: 'URL of the token endpoint. Redirects are not followed.',
  }),
  clientId: text('a client id').min(1, { error: 'must be a client id' }).meta({
    description: 'Client id of the gateway at the authorization server.',
  }),
  clientSecret: z
    .string({ error: 'must be text: put it in quotes' })
    .refine((value) => value !== '' && parseLiveText(value) !== undefined, {
      error: 'must be text without a NUL character',
    })
    .optional()
    .meta({ description: 'Client secret. A file is read again when it changes.' }),
  clientAuth: oneOf(['basic', 'post', 'certificate']).prefault('basic').meta({
    description:
      'How the gateway authenticates at the token endpoint: HTTP Basic (`basic`), in the request body (`post`), or with the client certificate `tls.cert` and without a secret (`certificate`).',
  }),
  scope: text('scopes')
    .regex(SCOPE, { error: 'must be scopes with one space between them' })
    .optional()
    .meta({
      description: 'Scopes to request, separated by spaces.',
    }),
  audience: text('an audience').min(1, { error: 'must be an audience' }).optional().meta({
    description:
      'The `audience` parameter of the token request. Some authorization servers need it.',
  }),
  resource: text('a URI')
    .refine((value) => URL.canParse(value), { error: 'must be an absolute URI' })
    .optional()
    .meta({
      description:
        'The `resource` parameter of the token request: the URI of the server (RFC 8707).',
    }),
  subjectTokenType: oneOf(['access_token', 'jwt']).prefault('access_token').meta({
    description: "The type of the client's token in a token exchange.",
  }),
  ca: file.optional().meta({
    description:
      "PEM file with the CA certificates to trust at the token endpoint instead of the system's.",
  }),
}).refine((value) => (value.clientAuth === 'certificate') === (value.clientSecret === undefined), {
  path: ['clientSecret'],
  when: isMap,
  error: 'must be a secret, unless clientAuth is certificate: then there is none',
});

/** What it makes. */
export type OAuthEntry = z.output<typeof oauthSchema>;

/** `tls:` of a remote server */
export const remoteTlsSchema = section({
  ca: file.optional().meta({
    description:
      "PEM file with the CA certificates to trust instead of the system's. Read again when it changes.",
  }),
  cert: file.optional().meta({
    description:
      'PEM file with the client certificate of the gateway for this server. Read again when it changes.',
  }),
  key: file
    .optional()
    .meta({ description: 'PEM file with the private key of the client certificate.' }),
}).refine((value) => (value.cert === undefined) === (value.key === undefined), {
  when: isMap,
  error: 'has only one of cert and key: must have both or none',
});

/** What it makes. */
export type RemoteTlsEntry = z.output<typeof remoteTlsSchema>;

/**
 * Makes the paths of an entry absolute.
 * @param folder absolute; what relative paths start at
 */
export function resolveOAuth(entry: OAuthEntry, folder: string): OAuthOptions {
  const { clientSecret, scope, audience, resource, ca, ...rest } = entry;
  const secret = clientSecret === undefined ? undefined : (parseLiveText(clientSecret) ?? []);
  return { ...rest, scope, audience, resource, clientSecret: secret, ca: pathOf(ca, folder) };
}

/** The same for certificates. */
export function resolveRemoteTls({ ca, cert, key }: RemoteTlsEntry, folder: string): RemoteTls {
  return { ca: pathOf(ca, folder), cert: pathOf(cert, folder), key: pathOf(key, folder) };
}

function pathOf(path: string | undefined, folder: string): string | undefined {
  return path === undefined || isAbsolute(path) ? path : resolve(folder, path);
}

// The gateway's secret goes there, so nobody on the way may read it.
function isTokenUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '') return false;
  if (url.hash !== '' || url.search !== '') return false;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(host));
}
