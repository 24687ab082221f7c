// Rules of `auth.allow` that are about servers which are not there: who wrote one meant another.
import type { AuthOptions } from '../auth/options.ts';
import { matchesGlob } from '../base/glob.ts';
import type { Fault } from './issues.ts';
import { nearest } from './nearest.ts';

/** Rules that are about nothing. */
export interface IdleRules {
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

/**
 * A fault for each name of no server, and a warning for each pattern that fits none: what it is meant
 * for may come.
 * @param known the servers that there are, those included that are off, or wrong in themselves
 */
export function unknownServers(auth: AuthOptions | undefined, known: readonly string[]): IdleRules {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  // Where no server could be read, no rule is to blame.
  const rules = known.length === 0 ? [] : (auth?.allow ?? []);
  for (const [at, rule] of rules.entries()) {
    for (const [index, name] of rule.servers.entries()) {
      if (known.some((server) => matchesGlob(name, server))) continue;
      const path = ['auth', 'allow', at, 'servers', index];
      const message = `fits no server: must be one of ${known.join(', ')}, or a pattern of them${hint(name, known)}`;
      (/[*?]/.test(name) ? warnings : faults).push({ path, at: 'value', message });
    }
  }
  return { faults, warnings };
}

function hint(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}
