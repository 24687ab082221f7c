// Who a client is, and what it may see and use. Made by auth/, asked by everybody else.

/** How a client said who it is. */
export type PrincipalKind = 'anonymous' | 'key' | 'token' | 'certificate';

/** Who a client is. Two clients are the same person exactly when their keys are equal. */
export interface Principal {
  /** Made of kind, issuer, subject and client, so that a missing part never makes two people one. */
  readonly key: string;
  /**
   * Whose quotas it uses, where that is not `key`: those of a token are its subject's, who may have any
   * number of OAuth clients. Sessions and tasks belong to the `key` all the same.
   */
  readonly quotaKey?: string;
  /** The rest is absent only for clients that nobody had to authenticate. */
  readonly kind?: PrincipalKind;
  /** For the audit log: the name or id of an API key, a token's subject, a certificate's name. */
  readonly name?: string;
  /** The id of the API key. */
  readonly keyId?: string;
  readonly groups?: ReadonlySet<string>;
  readonly scopes?: ReadonlySet<string>;
  /** Verified claims of a token; nothing that a client could have written itself. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /**
   * The access token that was verified, for its exchange at an authorization server (RFC 8693) and
   * nothing else. Only where a server is configured for that; a function, so that it is in no log.
   */
  readonly token?: () => string;
  /** When the credentials expire, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
}

/** Under which key all counts that has a limit for each principal: rates, calls, streams, held bytes. */
export function quotaKeyOf({ key, quotaKey }: Pick<Principal, 'key' | 'quotaKey'>): string {
  return quotaKey ?? key;
}

/** Whether nobody knows who it is: then all clients are this one principal. */
export function isAnonymous({ kind }: Principal): boolean {
  return kind === undefined || kind === 'anonymous';
}

/**
 * What the rules of `auth.allow` tell apart behind one server. A `method` is one that is carried as it
 * is: nobody can say what it does, so only a rule that allows everything allows it.
 */
export type AccessKind = 'tool' | 'prompt' | 'resource' | 'method';

/** One thing behind a server, under the name that the server itself has for it. */
export interface AccessItem {
  readonly server: string;
  readonly kind: AccessKind;
  /** Name of the tool, prompt or method, URI of the resource. */
  readonly name: string;
}

/** A refusal that is told openly. */
export interface Denial {
  /** Scopes with which it would be allowed; none: more scopes would not help. */
  readonly scopes: readonly string[];
}

/** What a principal may see and use. Listing and calling use the same check. */
export interface AccessPolicy {
  /** Whether denied things look as if they did not exist; otherwise their use is refused openly. */
  readonly hidesDenied: boolean;
  /** Whether a principal may use anything at all of a server. */
  opens(principal: Principal, server: string): boolean;
  /** Whether a principal may see and use one thing. */
  allows(principal: Principal, item: AccessItem): boolean;
  /** Scopes with which a principal would be allowed; empty when more scopes would not help. */
  missingScopes(principal: Principal, item: AccessItem): readonly string[];
}
