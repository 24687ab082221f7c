// Who may use which server, and what the gateway and its servers learn of each other: rules that are
// about no server, clients that are not known well enough, files that processes could read.
import type { AuthOptions } from '../auth/options.ts';
import { matchesGlob } from '../base/glob.ts';
import { isOfPrincipal, type TextTemplate } from '../base/text-template.ts';
import { isTokenExchange, type ServerOptions } from '../upstream/options.ts';
import { mayRead } from '../upstream/stdio/run-as.ts';
import { closestName } from './closest-name.ts';
import type { Config } from './config.ts';
import type { Findings } from './issues.ts';

/**
 * A fault for each name of no server in a rule, and a warning for each pattern that fits none: what it is
 * meant for may come.
 * @param known the servers that there are, those included that are off, or wrong in themselves
 */
export function checkRules(
  auth: AuthOptions | undefined,
  known: readonly string[],
  found: Findings,
): void {
  // Where no server could be read, no rule is to blame.
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
 * A fault for each server that is started or called with what is known of its clients, in a gateway that
 * knows too little of them: every call would fail, so the start does.
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
 * A warning for each server whose user could read what the gateway keeps for itself: those with a user
 * of their own should not (docs/reliability.md#e05, #e10). Processes of the gateway's user can read all
 * that it can.
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
