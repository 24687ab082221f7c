// What of a client's proof its own instance is made with, as a short text: who comes again with other
// claims must not find the process that was started with the old ones.
import { createHmac, randomBytes } from 'node:crypto';
import { jsonText } from '../jsonrpc/serialize.ts';
import type { Principal } from '../ports/principal.ts';
import type { ServerOptions } from './options.ts';
import { principalVariables } from './stdio/live-environment.ts';

/** Keys of instances are logged: nobody may guess claims from them. */
const KEY = randomBytes(32);

/**
 * The variant of a server that a client needs.
 * @returns empty when there is but one
 * @throws GatewayError when the client lacks something that the server is started with
 */
export function variantOf({ name, target }: ServerOptions, principal: Principal): string {
  if (target.kind === 'remote') {
    // A client must not be served with a token of the same one that has more scopes.
    return target.auth?.type === 'token_exchange'
      ? digest([...(principal.scopes ?? [])].sort())
      : '';
  }
  const variables = principalVariables(target.liveEnv, { server: name, principal });
  return Object.keys(variables).length === 0 ? '' : digest(variables);
}

function digest(value: unknown): string {
  return ` ${createHmac('sha256', KEY).update(jsonText(value)).digest('base64url').slice(0, 22)}`;
}
