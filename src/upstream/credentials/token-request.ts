// One request to a token endpoint. It is limited in time and size, follows no redirects, and its errors say
// what to do without addresses or secrets (RFC 6749 4.4 and 5, RFC 8693 2).
import { readTextFile, type UnusableFile } from '../../base/bounded-file.ts';
import { codeOf } from '../../base/errors.ts';
import { GatheredBytes } from '../../base/gathered-bytes.ts';
import { openPool, ProxyFailure } from '../../base/http-pool.ts';
import { isObject, type JsonObject, parseText } from '../../jsonrpc/parse.ts';
import { type DialPolicy, dialler, proxyUse } from './dialling.ts';
import { HttpFailure, notCalled } from './http-failure.ts';
import type { OAuthOptions } from './options.ts';

/** How an error about the address begins. */
const SUBJECT = 'was not called: its token endpoint';
const LIMIT_MS = 10_000;
const MAX_BYTES = 64 * 1024;
const MAX_CA_BYTES = 1024 * 1024;
const ACCESS_TOKEN = /^[\x21-\x7e]{1,16384}$/;
const ERROR_CODE = /^[a-z_]{1,40}$/;
/** RFC 6749 5.1 does not define a default. */
const DEFAULT_LIFETIME_MS = 300_000;
const MAX_LIFETIME_MS = 86_400_000;
const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';

/** An issued token. */
export interface IssuedToken {
  readonly value: string;
  readonly lifetimeMs: number;
}

/** The gateway's credentials, and the client. */
export interface TokenCredentials {
  readonly secret: string;
  /** PEM texts if a certificate is presented; otherwise empty. */
  readonly certificate: { readonly cert?: string; readonly key?: string };
  /** The client's access token, for an exchange. */
  readonly subject: string | undefined;
}

/**
 * Requests a token.
 * @param policy which addresses are allowed
 * @throws HttpFailure
 */
export async function requestToken(
  options: OAuthOptions,
  { secret, certificate, subject }: TokenCredentials,
  policy: DialPolicy,
): Promise<IssuedToken> {
  const url = new URL(options.tokenUrl);
  const secured = { timeout: LIMIT_MS, allowH2: false, ...certificate, ...trustOf(options) };
  const connect = dialler(secured, policy, SUBJECT);
  const pool = openPool(
    url.origin,
    { allowH2: false, connections: 1, maxHeaderSize: MAX_BYTES, connect },
    proxyUse(url, policy, SUBJECT),
  );
  try {
    const { statusCode, body } = await pool.request({
      path: url.pathname,
      method: 'POST',
      headers: headersOf(options, secret),
      body: formOf(options, secret, subject).toString(),
      headersTimeout: LIMIT_MS,
      bodyTimeout: LIMIT_MS,
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return read(statusCode, await collect(body), options, subject);
  } catch (error) {
    if (error instanceof HttpFailure) throw error;
    if (error instanceof ProxyFailure) {
      throw notCalled(`was not called: the proxy of its token endpoint ${error.message}.`);
    }
    const { name } = error as Error;
    // Not the message, because it may contain the address.
    const code = codeOf(error) ?? name;
    const isLate = name === 'TimeoutError';
    const what = isLate ? `did not answer within ${LIMIT_MS} ms` : `can't be reached (${code})`;
    throw notCalled(`was not called: its token endpoint ${what}.`, error);
  } finally {
    await pool.destroy();
  }
}

function trustOf({ ca }: OAuthOptions): { ca?: string } {
  if (ca === undefined) return {};
  try {
    return { ca: readTextFile(ca, MAX_CA_BYTES) };
  } catch (error) {
    const why = (error as UnusableFile).message;
    throw notCalled(`was not called: auth.ca can't be used, ${why}.`, error);
  }
}

function headersOf(options: OAuthOptions, secret: string): Record<string, string> {
  const { clientAuth, clientId } = options;
  const pair = `${formEncoded(clientId)}:${formEncoded(secret)}`;
  return {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': 'sluice',
    ...(clientAuth === 'basic'
      ? { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
      : {}),
  };
}

function formOf(
  options: OAuthOptions,
  secret: string,
  subject: string | undefined,
): URLSearchParams {
  const { clientAuth, clientId, scope, audience, resource, subjectTokenType } = options;
  const isExchange = subject !== undefined;
  const form = {
    grant_type: isExchange ? GRANT : 'client_credentials',
    ...(isExchange
      ? {
          subject_token: subject,
          subject_token_type: `${TOKEN_TYPE}${subjectTokenType}`,
          requested_token_type: `${TOKEN_TYPE}access_token`,
        }
      : {}),
    scope,
    audience,
    resource,
    // RFC 8705 2: the certificate alone does not identify the client.
    ...(clientAuth === 'basic' ? {} : { client_id: clientId }),
    ...(clientAuth === 'post' ? { client_secret: secret } : {}),
  };
  const given = Object.entries(form).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given as [string, string][]);
}

/** RFC 6749 2.3.1: both are encoded before they are joined. */
function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice('x='.length);
}

async function collect(body: AsyncIterable<Buffer>): Promise<string> {
  const bytes = new GatheredBytes();
  for await (const chunk of body) {
    if (bytes.length + chunk.length > MAX_BYTES) {
      throw notCalled('was not called: the answer of its token endpoint is too large.');
    }
    bytes.push(chunk);
  }
  return bytes.take().toString('utf8');
}

function read(
  status: number,
  text: string,
  options: OAuthOptions,
  subject: string | undefined,
): IssuedToken {
  const answer = objectOf(text);
  if (status !== 200) throw notCalled(refusalOf(status, answer, subject !== undefined));
  const { access_token: value, token_type: type } = answer;
  const isBearer = type === undefined || (typeof type === 'string' && /^bearer$/i.test(type));
  if (typeof value !== 'string' || !ACCESS_TOKEN.test(value) || !isBearer) {
    throw notCalled('was not called: its token endpoint answered without a bearer token.');
  }
  // The client's token is meant for the gateway. Another server must never get it.
  if (value === subject) {
    const what = 'returned the token of the client, which is not passed on';
    throw notCalled(
      `was not called: its token endpoint ${what}; set ${options.audience === undefined ? 'auth.audience or auth.resource' : 'another auth.audience'}.`,
    );
  }
  return { value, lifetimeMs: lifetimeOf(answer['expires_in']) };
}

function objectOf(text: string): JsonObject {
  try {
    const value = parseText(text);
    return isObject(value) ? value : {};
  } catch {
    return {}; // not JSON, for example a page of a proxy
  }
}

function lifetimeOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' ? Number.parseInt(expiresIn, 10) : expiresIn;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return DEFAULT_LIFETIME_MS;
  return Math.min(Math.max(seconds, 0) * 1_000, MAX_LIFETIME_MS);
}

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'check auth.clientId, auth.clientSecret and auth.clientAuth',
  unauthorized_client: 'allow the grant to that client at the authorization server',
  unsupported_grant_type: 'check auth.type',
  invalid_scope: 'check auth.scope',
  invalid_target: 'check auth.audience and auth.resource',
};

function refusalOf(status: number, answer: JsonObject, isExchange: boolean): string {
  if (status >= 300 && status < 400) {
    return 'was not called: its token endpoint redirects to another address, which is not followed; put the right address into auth.tokenUrl.';
  }
  const { error } = answer;
  if (typeof error !== 'string' || !ERROR_CODE.test(error)) {
    return `was not called: its token endpoint answered HTTP ${status}.`;
  }
  const ofClient = isExchange ? 'the token of the client was not accepted' : 'see its log';
  return `was not called: its token endpoint refused with ${error}; ${ADVICE[error] ?? ofClient}.`;
}
