// What a client may see and use of an endpoint. Listing and calling use the same check, so exactly what is
// listed can be called.
import { eachItem, type StepsTo } from '../../base/steps.ts';
import { Listing } from '../../catalog/listing.ts';
import type { OfferedEntry } from '../../catalog/offered-entry.ts';
import { PROMPTS_LIST, TOOLS_LIST } from '../../mcp/methods.ts';
import type {
  AccessItem,
  AccessKind,
  AccessPolicy,
  Denial,
  Principal,
} from '../../ports/principal.ts';

/** Rules about URIs take longer than other checks. The cost in bytes. */
const RULE_COST = 4 * 1024;

/** Applies a policy to an endpoint. */
export class Visibility {
  readonly #policy: AccessPolicy | undefined;
  readonly #keys: readonly string[];
  /** Filtered lists, kept as long as the list and the principal exist. */
  readonly #listings = new WeakMap<Listing, WeakMap<Principal, Listing>>();

  /**
   * @param policy undefined: everything is allowed
   * @param keys names of the servers, in the order of the configuration
   */
  constructor(policy: AccessPolicy | undefined, keys: readonly string[]) {
    this.#policy = policy;
    this.#keys = keys;
  }

  /** Whether a client may use anything of a server. */
  opens(principal: Principal, key: string): boolean {
    return this.#policy?.opens(principal, key) ?? true;
  }

  /** The part of a list that a client may see. */
  *of(principal: Principal, listing: Listing): StepsTo<Listing> {
    if (this.#policy === undefined) return listing;
    const byPrincipal = this.#listings.get(listing) ?? new WeakMap<Principal, Listing>();
    this.#listings.set(listing, byPrincipal);
    let left = byPrincipal.get(principal);
    if (left === undefined) {
      left = yield* this.#filtered(principal, listing);
      byPrincipal.set(principal, left);
    }
    return left;
  }

  *#filtered(principal: Principal, listing: Listing): StepsTo<Listing> {
    const { method, entries } = listing;
    const kind = kindOf(method);
    const left: OfferedEntry[] = [];
    const keep = (entry: OfferedEntry): void => {
      if (this.allowsEntry(principal, kind, entry)) left.push(entry);
    };
    yield* eachItem(entries, keep, () => (kind === 'resource' ? RULE_COST : 0));
    return left.length === entries.length ? listing : yield* Listing.of(method, left);
  }

  /** Whether a client may use an entry of a list. */
  allowsEntry(principal: Principal, kind: AccessKind, entry: OfferedEntry): boolean {
    const server = this.#keys[entry.member];
    // Entries of the gateway itself belong to no server.
    if (server === undefined) return true;
    return this.allows(principal, { server, kind, name: entry.upstream });
  }

  /** Whether a client may use something, even if it is not listed. */
  allows(principal: Principal, item: AccessItem): boolean {
    return this.#policy?.allows(principal, item) ?? true;
  }

  /**
   * Why a client may not use something, if it may be told.
   * @returns undefined if it must look as if it did not exist
   */
  reason(principal: Principal, item: AccessItem): Denial | undefined {
    if (this.#policy === undefined || this.#policy.hidesDenied) return undefined;
    return { scopes: this.#policy.missingScopes(principal, item) };
  }
}

/** The kind of a list's entries in a policy. */
export function kindOf(method: Listing['method']): AccessKind {
  if (method === TOOLS_LIST) return 'tool';
  return method === PROMPTS_LIST ? 'prompt' : 'resource';
}
