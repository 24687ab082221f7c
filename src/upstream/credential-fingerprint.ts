// The part of a client's credentials that a server is started or called with. With other claims or scopes, a
// client must not get the process or the session of the old ones.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { Principal } from '../ports/principal.ts';
import { isTokenExchange, type ServerOptions } from './options.ts';
import { principalVariables } from './stdio/environment.ts';

/** Keys of instances are logged, so nobody may be able to guess claims from them. */
const KEY = randomBytes(32);
const LENGTH = 22;
/**
 * Claims that differ in each token of a client, and give no rights: times and ids (RFC 7519 4.1), and similar
 * ones of Entra ID.
 */
const OF_ONE_TOKEN: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti', 'uti', 'aio', 'rh']);

/**
 * The fingerprint of credentials as part of an instance's key.
 * @returns empty if the instances do not depend on credentials
 * @throws GatewayError if the client lacks something that the server is started with
 */
export function instanceFingerprint(options: ServerOptions, principal: Principal): string {
  const parts = partsOf(options, principal);
  if (parts === undefined) return '';
  const digest = createHmac('sha256', KEY).update(jsonText(parts)).digest('base64url');
  return ` ${digest.slice(0, LENGTH)}`;
}

/**
 * The same for what clients keep, such as sessions. It is equal in all gateways. Never logged.
 * @returns empty if the server does not depend on credentials
 */
export function credentialFingerprint(options: ServerOptions, principal: Principal): string {
  try {
    const parts = partsOf(options, principal);
    if (parts === undefined) return '';
    return createHash('sha256').update(jsonText(parts)).digest('base64url').slice(0, LENGTH);
  } catch (error) {
    if (error instanceof GatewayError) return 'none';
    throw error;
  }
}

/** The part of the credentials that the server sees; undefined if it sees nothing. */
function partsOf(options: ServerOptions, principal: Principal): unknown {
  if (isTokenExchange(options)) return exchanged(principal);
  const { name, target } = options;
  if (target.kind === 'remote') return undefined;
  const variables = principalVariables(target.envTemplates, { server: name, principal });
  return Object.keys(variables).length === 0 ? undefined : variables;
}

/** Everything that an authorization server may use when it exchanges the token. */
function exchanged({ scopes, claims = {} }: Principal): unknown {
  const lasting = Object.entries(claims).filter(([name]) => !OF_ONE_TOKEN.has(name));
  return [[...(scopes ?? [])].sort(), lasting.sort(([a], [b]) => (a < b ? -1 : 1))];
}
