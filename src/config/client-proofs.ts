// Servers that are started or called with what is known of their clients, in a gateway that knows too
// little of them: every call would fail, so the start does.
import type { AuthOptions } from '../auth/options.ts';
import type { ServerOptions } from '../backend/options.ts';
import { isTokenExchange } from '../backend/options.ts';
import { isOfPrincipal } from '../base/live-text.ts';
import type { Fault } from './issues.ts';

/** What is wrong, for each server. */
export function missingProofs(
  servers: readonly ServerOptions[],
  auth: AuthOptions | undefined,
): Fault[] {
  const hasTokens = auth !== undefined && auth.issuers.length > 0;
  return servers.flatMap((server): Fault[] => {
    if (isTokenExchange(server) && !hasTokens) {
      const message = 'exchanges the tokens of clients: must have auth.issuers, which verify them';
      return [{ path: ['servers', server.name, 'auth'], at: 'key', message }];
    }
    const variable = variableWithout(server, { hasTokens, hasNames: auth !== undefined });
    if (variable === undefined) return [];
    const message =
      'has ${principal...}, which nobody verifies: must have auth, and auth.issuers for claims';
    return [{ path: ['servers', server.name, 'env', variable], at: 'value', message }];
  });
}

function variableWithout(
  { target }: ServerOptions,
  has: { readonly hasTokens: boolean; readonly hasNames: boolean },
): string | undefined {
  if (target.kind !== 'stdio') return undefined;
  const live = Object.entries(target.liveEnv).filter(([, text]) => isOfPrincipal(text));
  const found = live.find(([, text]) =>
    text.some(
      (part) =>
        typeof part !== 'string' &&
        ((part.kind === 'claim' && !has.hasTokens) || (part.kind === 'name' && !has.hasNames)),
    ),
  );
  return found?.[0];
}
