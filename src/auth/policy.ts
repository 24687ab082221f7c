// Applies the rules of `auth.allow`. Listing and calling use the same check, so exactly what is listed can be
// called. Everything that no rule allows is denied. A rule applies to a principal that is in one of its
// `groups`, has one of its `keys`, and has all of its `scopes`. A rule may have some of these conditions;
// without any it applies to every authenticated principal. It allows the named `tools`, `prompts` and
// `resources` of the named `servers`. Without all three it allows everything, including methods that are only
// passed on.
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

/** The rules of a configuration. */
export class RulePolicy implements AccessPolicy {
  readonly hidesDenied: boolean;
  readonly #rules: readonly AllowRule[];
  /** The rules that apply to a principal. Every call needs them, and a principal's object does not change. */
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

  /** Like `missingScopes`, for servers as a whole. */
  missingScopesFor(principal: Principal, servers: readonly string[]): readonly string[] {
    return this.#missing(principal, (rule) => servers.some((one) => names(rule.servers, one)));
  }

  /** All scopes in rules about these servers. */
  scopesFor(servers: readonly string[]): string[] {
    const rules = this.#rules.filter((rule) => servers.some((one) => names(rule.servers, one)));
    return [...new Set(rules.flatMap(({ who }) => who.scopes))];
  }

  // The scopes of the first rule that applies except for its scopes. Asking for all of them at once saves the
  // client a second challenge (2026-07-28 basic/authorization).
  #missing(principal: Principal, isAbout: (rule: AllowRule) => boolean): readonly string[] {
    // Only a token can get more scopes; those of a key are in its file.
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
    // Another spelling of a URI must not bypass a rule.
    return item.kind === 'resource' ? allowsUri(list, item.name) : names(list, item.name);
  }
  return rule.tools === undefined && rule.prompts === undefined && rule.resources === undefined;
}

/** Runs for each call. Most globs are plain names or `*`. */
function names(globs: readonly string[], text: string): boolean {
  for (const glob of globs) {
    if (glob === '*' || glob === text || matchesGlob(glob, text)) return true;
  }
  return false;
}
