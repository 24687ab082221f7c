// What of a client's credentials a server is started or called with: who comes again with other
// claims or scopes must find neither the process nor the session that are for the old ones.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { Principal } from '../ports/principal.ts';
import { isTokenExchange, type ServerOptions } from './options.ts';
import { principalVariables } from './stdio/environment.ts';

/** Keys of instances are logged: nobody may guess claims from them. */
const KEY = randomBytes(32);
const LENGTH = 22;
/**
 * Claims that each new token of the same client has anew, and that give it nothing: times and ids
 * (RFC 7519 4.1), and what Entra ID has of that kind.
 */
const OF_ONE_TOKEN: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti', 'uti', 'aio', 'rh']);

/**
 * Which credentials a client's instance is made with, as a part of its instance's key.
 * @returns empty when there is but one
 * @throws GatewayError when the client lacks something that the server is started with
 */
export function instanceFingerprint(options: ServerOptions, principal: Principal): string {
  const parts = partsOf(options, principal);
  if (parts === undefined) return '';
  const digest = createHmac('sha256', KEY).update(jsonText(parts)).digest('base64url');
  return ` ${digest.slice(0, LENGTH)}`;
}

/**
 * The same for what clients hold on to: the same text in every gateway. Never logged.
 * @returns empty when the server takes all of a principal's credentials for the same
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

/** What the server sees of the credentials; undefined when it sees nothing. */
function partsOf(options: ServerOptions, principal: Principal): unknown {
  if (isTokenExchange(options)) return exchanged(principal);
  const { name, target } = options;
  if (target.kind === 'remote') return undefined;
  const variables = principalVariables(target.envTemplates, { server: name, principal });
  return Object.keys(variables).length === 0 ? undefined : variables;
}

/** Whatever an authorization server may look at when it trades the token. */
function exchanged({ scopes, claims = {} }: Principal): unknown {
  const lasting = Object.entries(claims).filter(([name]) => !OF_ONE_TOKEN.has(name));
  return [[...(scopes ?? [])].sort(), lasting.sort(([a], [b]) => (a < b ? -1 : 1))];
}
