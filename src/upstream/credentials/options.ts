// What a user may say about how the gateway authenticates at a remote server: OAuth at a token endpoint
// that is configured, never found (docs/reliability.md#d07), and certificates.
import { z } from 'zod';
import { isMap, isSecureUrl, type Options, oneOf, section, text } from '../../base/options.ts';
import { parseTextTemplate } from '../../base/text-template.ts';

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

/** How tokens are got. Paths are absolute. */
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
