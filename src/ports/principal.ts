// Who a client is, and what it may see and use. auth/ makes principals; all others use them.

/** How a client was authenticated. */
export type PrincipalKind = 'anonymous' | 'key' | 'token' | 'certificate';

/** Who a client is. Two clients are the same principal exactly if their keys are equal. */
export interface Principal {
  /** Made from kind, issuer, subject and client. A missing part never makes two keys equal. */
  readonly key: string;
  /**
   * The key for quotas, if it differs from `key`. All OAuth clients of a token's subject share quotas.
   * Sessions and tasks still belong to the `key`.
   */
  readonly quotaKey?: string;
  /** The members below are absent without authentication. */
  readonly kind?: PrincipalKind;
  /**
   * For the audit log: the name or id of an API key, the subject of a token, or the name in a certificate.
   */
  readonly name?: string;
  /** The id of the API key. */
  readonly keyId?: string;
  readonly groups?: ReadonlySet<string>;
  readonly scopes?: ReadonlySet<string>;
  /** Verified claims of a token. A client can't choose them. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /**
   * The verified access token, only for exchanging it at an authorization server (RFC 8693). Set only if a
   * server is configured for that. A function, so that it is never logged.
   */
  readonly token?: () => string;
  /** When the credentials expire, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
}

/**
 * The key under which everything counts that is limited for each principal: rates, calls, streams, held
 * bytes.
 */
export function quotaKeyOf({ key, quotaKey }: Pick<Principal, 'key' | 'quotaKey'>): string {
  return quotaKey ?? key;
}

/** Whether the client was not authenticated. All such clients are one principal. */
export function isAnonymous({ kind }: Principal): boolean {
  return kind === undefined || kind === 'anonymous';
}

/**
 * The kinds of things that rules of `auth.allow` distinguish. A `method` is one that is only passed on. Its
 * effect is not known, so only a rule that allows everything allows it.
 */
export type AccessKind = 'tool' | 'prompt' | 'resource' | 'method';

/** One thing of a server, under the name that the server itself uses. */
export interface AccessItem {
  readonly server: string;
  readonly kind: AccessKind;
  /** The name of the tool, prompt or method, or the URI of the resource. */
  readonly name: string;
}

/** A denial that the client is told about. */
export interface Denial {
  /** Scopes that would be enough; none: more scopes would not help. */
  readonly scopes: readonly string[];
}

/** What a principal may see and use. Listing and calling use the same check. */
export interface AccessPolicy {
  /** Whether denied things appear as if they did not exist. Otherwise using them is refused openly. */
  readonly hidesDenied: boolean;
  /** Whether a principal may use anything of a server. */
  opens(principal: Principal, server: string): boolean;
  /** Whether a principal may see and use one thing. */
  allows(principal: Principal, item: AccessItem): boolean;
  /** The scopes that a principal would need; empty if more scopes would not help. */
  missingScopes(principal: Principal, item: AccessItem): readonly string[];
}
