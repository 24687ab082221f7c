// What a user may say about a remote server. One set of keys for both transports, since which one it is
// may be found out.
import { z } from 'zod';
import { absolutePath } from '../../base/folders.ts';
import { flag, isUrl, type KeyOptions, oneOf, text } from '../../base/options.ts';
import { parseProxy } from '../../base/proxies.ts';
import {
  isTemplate,
  parseTextTemplate,
  plainText,
  type TextTemplate,
} from '../../base/text-template.ts';
import { oauthSchema, remoteTlsSchema } from '../credentials/options.ts';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, spaces and tabs inside, nothing that ends a line. */
const VALUE = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/;

/** What the transport says itself; a wrong one would break it, or smuggle a second request. */
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
  /** The headers that may change; `headers` has them as at load. */
  readonly headerTemplates: Readonly<Record<string, TextTemplate>>;
}

/**
 * Makes the paths of an entry absolute, and reads its texts.
 * @param folder absolute; what relative paths start at
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

// Values of a wrong type have their own issue already.
function isValue(value: unknown): boolean {
  return typeof value !== 'string' || VALUE.test(plainText(value));
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
