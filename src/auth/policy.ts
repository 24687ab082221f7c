// Who may use what: the rules of `auth.allow` as one pure function that listing and calling share, so
// that what is listed is exactly what can be called. Denied is what no rule allows.
//
// A rule applies to a principal that is in one of its `groups`, has one of its `keys` and all of its
// `scopes`; of these, those that the rule has must all hold, and a rule without any is for everybody
// who is authenticated. It allows, of the `servers` that it names, the `tools`, `prompts` and
// `resources` that it names; a rule that names none of these three allows all of them, and methods that
// the gateway only carries.
import { matchesGlob } from '../base/glob.ts';
import { allowsUri } from '../base/uri-rules.ts';
import type { AccessItem, AccessKind, AccessPolicy, Principal } from '../ports/principal.ts';
import type { AllowRule, DeniedForm } from './options.ts';

const LISTS: Readonly<Record<AccessKind, 'tools' | 'prompts' | 'resources' | undefined>> = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  method: undefined,
};

/** The rules of one configuration. */
export class RulePolicy implements AccessPolicy {
  readonly hidesDenied: boolean;
  readonly #rules: readonly AllowRule[];
  /** Which rules apply is asked for each call; a principal's object does not change. */
  readonly #applying = new WeakMap<Principal, readonly AllowRule[]>();

  constructor(rules: readonly AllowRule[], onDenied: DeniedForm) {
    this.#rules = rules;
    this.hidesDenied = onDenied === 'hide';
  }

  opens(principal: Principal, server: string): boolean {
    return this.#rulesFor(principal).some((rule) => names(rule.servers, server));
  }

  allows(principal: Principal, item: AccessItem): boolean {
    return this.#rulesFor(principal).some((rule) => covers(rule, item));
  }

  missingScopes(principal: Principal, item: AccessItem): readonly string[] {
    return this.#missing(principal, (rule) => covers(rule, item));
  }

  /** The same for a server as a whole. */
  missingScopesFor(principal: Principal, servers: readonly string[]): readonly string[] {
    return this.#missing(principal, (rule) => servers.some((one) => names(rule.servers, one)));
  }

  /** Every scope that a rule about these servers asks for. */
  scopesFor(servers: readonly string[]): string[] {
    const rules = this.#rules.filter((rule) => servers.some((one) => names(rule.servers, one)));
    return [...new Set(rules.flatMap(({ who }) => who.scopes))];
  }

  // The first rule that only scopes stand against; asking for all of its scopes at once saves the
  // client a second challenge (2026-07-28 basic/authorization).
  #missing(principal: Principal, isAbout: (rule: AllowRule) => boolean): readonly string[] {
    // Only a token's scopes can grow; a key's are what its file says.
    if (principal.kind !== 'token') return [];
    const rule = this.#rules.find(
      (one) => isAbout(one) && isPerson(one, principal) && !hasScopes(one, principal),
    );
    return rule?.who.scopes ?? [];
  }

  #rulesFor(principal: Principal): readonly AllowRule[] {
    let rules = this.#applying.get(principal);
    if (rules === undefined) {
      rules = this.#rules.filter((rule) => isPerson(rule, principal) && hasScopes(rule, principal));
      this.#applying.set(principal, rules);
    }
    return rules;
  }
}

function isPerson({ who }: AllowRule, principal: Principal): boolean {
  const { groups, keyId, name, kind } = principal;
  const isMember = who.groups.length === 0 || who.groups.some((group) => groups?.has(group));
  const isKey =
    who.keys.length === 0 ||
    (kind === 'key' && who.keys.some((key) => key === keyId || key === name));
  return isMember && isKey;
}

function hasScopes({ who }: AllowRule, principal: Principal): boolean {
  return who.scopes.every((scope) => principal.scopes?.has(scope) === true);
}

function covers(rule: AllowRule, item: AccessItem): boolean {
  if (!names(rule.servers, item.server)) return false;
  const kind = LISTS[item.kind];
  const list = kind && rule[kind];
  if (list !== undefined) {
    // A URI that is spelled otherwise must not lead out of what is allowed.
    return item.kind === 'resource' ? allowsUri(list, item.name) : names(list, item.name);
  }
  return rule.tools === undefined && rule.prompts === undefined && rule.resources === undefined;
}

/** Asked for each call: most globs are a name, or all of them. */
function names(globs: readonly string[], text: string): boolean {
  for (const glob of globs) {
    if (glob === '*' || glob === text || matchesGlob(glob, text)) return true;
  }
  return false;
}
