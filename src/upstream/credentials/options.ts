// Options of a remote server. Both transports have the same keys, because the transport may be detected. The
// OAuth token endpoint is configured, never discovered (docs/reliability.md#d07).
import { z } from 'zod';
import { absolutePath } from '../../base/folders.ts';
import {
  flag,
  isMap,
  isSecureUrl,
  isUrl,
  type KeyOptions,
  type Options,
  oneOf,
  section,
  text,
} from '../../base/options.ts';
import { parseProxy } from '../../base/proxies.ts';
import {
  isTemplate,
  parseTextTemplate,
  plainText,
  type TextTemplate,
} from '../../base/text-template.ts';

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
  tokenUrl: text('an https URL')
    .refine((value) => isSecureUrl(value, /[?#]./), { error: TOKEN_URL })
    .meta({ description: 'URL of the token endpoint. Redirects are not followed.' }),
  clientId: text('a client id').min(1, { error: 'must be a client id' }).meta({
    description: 'Client id of the gateway at the authorization server.',
  }),
  clientSecret: z
    .string({ error: 'must be text: put it in quotes' })
    .transform((value, context) => {
      const parts = value === '' ? undefined : parseTextTemplate(value);
      if (parts !== undefined) return parts;
      const message = 'must be text without a NUL character';
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    })
    .optional()
    .meta({ shown: 'secret', description: 'Client secret. A file is read again when it changes.' }),
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

/** How tokens are requested. Paths are absolute. */
export type OAuthOptions = Options<typeof oauthSchema>;

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

/** Files of certificates. Paths are absolute. */
export type RemoteTls = Options<typeof remoteTlsSchema>;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, with spaces and tabs only inside. Nothing that ends a line. */
const VALUE = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/;

/** Headers that the transport sets. Other values would break it, or smuggle a second request. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const URL_RIGHT = 'must be an http or https URL without user name and fragment';

/** The keys of an entry that say where the server is. */
export const remoteKeys = {
  url: text('an http or https URL')
    .refine((value) => isUrl(value, /#./), { error: URL_RIGHT })
    .meta({ description: 'URL of the MCP endpoint of the remote server.' }),
  transport: oneOf(['auto', 'streamable-http', 'sse']).prefault('auto').meta({
    description:
      'Transport of the remote server: Streamable HTTP, HTTP+SSE (`sse`), or `auto` to detect it.',
  }),
  headers: z
    .record(z.string(), z.string({ error: 'must be text: put it in quotes' }), {
      error: 'must be a map of names to texts',
    })
    .refine((value) => Object.keys(value).every(isFreeName), {
      error:
        'must have only names of headers that the transport does not set itself, such as Authorization',
    })
    .refine((value) => Object.values(value).every(isValue), {
      error: 'must have only values of one line without spaces around them',
    })
    .transform(lowerNames)
    .prefault({})
    .meta({
      shown: 'variables',
      description:
        'Headers that are added to every request. Files are read again when they change. Headers of clients are never forwarded.',
    }),
  allowPrivate: flag().prefault(true).meta({
    description:
      'Allow the server and its token endpoint to have a private address: this machine, local networks, cloud metadata services. `false` checks the IP address of each connection when it is opened; a proxy is asked for that address, not for the name.',
  }),
  proxy: text('none or the URL of a proxy')
    .refine((value) => value === 'none' || parseProxy(value) !== undefined, {
      error: 'must be none, or the http or https URL of a proxy',
    })
    .optional()
    .meta({
      shown: 'proxy',
      description:
        'The proxy for the server and its token endpoint: `http://USER:PASSWORD@HOST:PORT`, or `none`. Default: what the environment says (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`).',
    }),
  tls: remoteTlsSchema.prefault({}).describe('Certificates for an `https` URL.'),
  auth: oauthSchema.optional().meta({
    description: 'OAuth: the gateway gets access tokens for the server and sends them.',
  }),
};

type RemoteEntry = KeyOptions<typeof remoteKeys>;

/** A server that is reached over HTTP. Paths are absolute; names of headers are in lower case. */
export interface RemoteTarget extends RemoteEntry {
  readonly kind: 'remote';
  /** The headers that may change; `headers` has them as they were loaded. */
  readonly headerTemplates: Readonly<Record<string, TextTemplate>>;
}

/**
 * Makes the paths of an entry absolute, and parses its texts.
 * @param folder absolute; the base of relative paths
 */
export function resolveRemote(entry: RemoteEntry, folder: string): RemoteTarget {
  const { headers, tls, auth } = entry;
  const texts = Object.entries(headers).map(([name, value]): [string, TextTemplate] => [
    name,
    parseTextTemplate(value) ?? [],
  ]);
  const path = (given: string | undefined): string | undefined => absolutePath(given, folder);
  return {
    kind: 'remote',
    ...entry,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, plainText(value)]),
    ),
    headerTemplates: Object.fromEntries(texts.filter(([, value]) => isTemplate(value))),
    tls: { ca: path(tls.ca), cert: path(tls.cert), key: path(tls.key) },
    auth: auth && { ...auth, ca: path(auth.ca) },
  };
}

/** Whether a text can be sent as a header. */
export function isHeaderValue(value: string): boolean {
  return VALUE.test(value);
}

function isFreeName(name: string): boolean {
  const lower = name.toLowerCase();
  return TOKEN.test(name) && !OWN_HEADERS.has(lower) && !lower.startsWith('mcp-');
}

// A value of a wrong type has another error already.
function isValue(value: unknown): boolean {
  return typeof value !== 'string' || VALUE.test(plainText(value));
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
