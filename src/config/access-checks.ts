// Checks access options: rules that match no server, options that need authenticated clients, and files that
// processes of other users could read.
import type { AuthOptions } from '../auth/options.ts';
import { matchesGlob } from '../base/glob.ts';
import { isOfPrincipal, type TextTemplate } from '../base/text-template.ts';
import { isTokenExchange, type ServerOptions } from '../upstream/options.ts';
import { mayRead } from '../upstream/stdio/run-as.ts';
import { closestName } from './closest-name.ts';
import type { Config } from './config.ts';
import type { Findings } from './issues.ts';

/**
 * Reports each server name in a rule that is unknown as an error, and each pattern that matches no server as
 * a warning: its servers may be added later.
 * @param known the names of all servers, also disabled and invalid ones
 */
export function checkRules(
  auth: AuthOptions | undefined,
  known: readonly string[],
  found: Findings,
): void {
  // If no server could be read, the rules are not wrong.
  const rules = known.length === 0 ? [] : (auth?.allow ?? []);
  for (const [at, rule] of rules.entries()) {
    for (const [index, name] of rule.servers.entries()) {
      if (known.some((server) => matchesGlob(name, server))) continue;
      const path = ['auth', 'allow', at, 'servers', index];
      const message = `fits no server: must be one of ${known.join(', ')}, or a pattern of them${hint(name, known)}`;
      if (/[*?]/.test(name)) found.warn(path, message);
      else found.fault(path, message);
    }
  }
}

function hint(name: string, known: readonly string[]): string {
  const meant = closestName(name, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/**
 * Reports each server that needs properties of authenticated clients if there is no such authentication.
 * Every call would fail, so the gateway does not start.
 */
export function checkKnownClients(
  servers: readonly ServerOptions[],
  auth: AuthOptions | undefined,
  found: Findings,
): void {
  const hasTokens = auth !== undefined && auth.issuers.length > 0;
  for (const server of servers) {
    const path = ['servers', server.name];
    const variable = variableWithout(server, { hasTokens, hasNames: auth !== undefined });
    if (isTokenExchange(server) && !hasTokens) {
      const message = 'exchanges the tokens of clients: must have auth.issuers, which verify them';
      found.fault([...path, 'auth'], message, 'key');
    } else if (variable !== undefined) {
      found.fault(
        [...path, 'env', variable],
        'has ${principal...}, which nobody verifies: must have auth, and auth.issuers for claims',
      );
    }
  }
}

function variableWithout(
  { target }: ServerOptions,
  has: { readonly hasTokens: boolean; readonly hasNames: boolean },
): string | undefined {
  if (target.kind !== 'stdio') return undefined;
  const live = Object.entries(target.envTemplates).filter(([, text]) => isOfPrincipal(text));
  const found = live.find(([, text]) =>
    text.some(
      (part) =>
        typeof part !== 'string' &&
        ((part.kind === 'claim' && !has.hasTokens) || (part.kind === 'name' && !has.hasNames)),
    ),
  );
  return found?.[0];
}

/**
 * Warns about each server whose user could read files of the gateway (docs/reliability.md#e05, #e10).
 * Processes of the gateway's own user can always read them.
 */
export function checkReadableFiles(
  { file, listen, auth, servers }: Pick<Config, 'file' | 'listen' | 'auth' | 'servers'>,
  found: Findings,
): void {
  const own = [file, auth?.keys?.file, listen.tls?.key];
  for (const server of servers) {
    const { target, name } = server;
    if (target.kind !== 'stdio' || target.runAs === undefined) continue;
    const { runAs } = target;
    const others = servers.filter((other) => other !== server).flatMap(secretFiles);
    const readable = [...own, ...others].filter(
      (path) => path !== undefined && mayRead(runAs, path),
    );
    if (readable.length === 0) continue;
    const files = [...new Set(readable)].join(', ');
    const message = `can read ${files}: take the right from that user with chmod or chown`;
    found.warn(['servers', name, 'runAs'], message, 'key');
  }
}

function secretFiles({ target }: ServerOptions): string[] {
  if (target.kind === 'stdio') return filesOf(Object.values(target.envTemplates).flat());
  const { headerTemplates, auth, tls } = target;
  const texts = [...Object.values(headerTemplates), auth?.clientSecret ?? []];
  return [...filesOf(texts.flat()), ...(tls.key === undefined ? [] : [tls.key])];
}

function filesOf(text: TextTemplate): string[] {
  return text.flatMap((part) =>
    typeof part !== 'string' && part.kind === 'file' ? [part.path] : [],
  );
}
