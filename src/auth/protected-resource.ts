// What the gateway says of itself to clients of authorization servers: the metadata documents of its
// endpoints (RFC 9728) and the challenges that point at them. Every address comes from the configured
// public one, never from a request (docs/reliability.md#a07).
import type { AuthOptions } from './options.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The document of one resource. */
export interface ResourceDocument {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly ['header'];
  readonly scopes_supported?: readonly string[];
}

/** What a challenge says besides who is asked. */
export interface Challenge {
  readonly error?: 'invalid_token' | 'insufficient_scope';
  /** For people who look for what is wrong. */
  readonly description?: string | undefined;
  readonly scopes: readonly string[];
}

/** The gateway as an OAuth 2.1 resource server. */
export class ProtectedResource {
  readonly #issuers: readonly string[];
  readonly #origin: string;
  /** Path of the public address without its last slash. */
  readonly #prefix: string;

  /**
   * @param publicUrl the address that clients use; undefined when there are no issuers
   */
  constructor(options: Pick<AuthOptions, 'issuers'>, publicUrl: string | undefined) {
    this.#issuers = options.issuers.map(({ issuer }) => issuer);
    const url = publicUrl === undefined ? undefined : new URL(publicUrl);
    this.#origin = url?.origin ?? '';
    this.#prefix = url?.pathname.replace(/\/$/, '') ?? '';
  }

  /** Whether there are authorization servers to point at. */
  get hasIssuers(): boolean {
    return this.#issuers.length > 0;
  }

  /**
   * The addresses that a token for an endpoint may be meant for: the gateway as a whole, and the
   * endpoint under each of its paths.
   */
  audiences(paths: readonly string[]): ReadonlySet<string> {
    if (!this.hasIssuers) return new Set();
    const root = `${this.#origin}${this.#prefix}`;
    const own = paths.map((path) => `${root}${path}`);
    // An origin alone and with a slash is one and the same URL (RFC 3986 6.2.3).
    return new Set(this.#prefix === '' ? [root, `${root}/`, ...own] : [root, ...own]);
  }

  /** The path of the resource that a request for a metadata document is about; undefined: for none. */
  resourcePath(target: string): string | undefined {
    if (!target.startsWith(WELL_KNOWN) || !this.hasIssuers) return undefined;
    const path = target.slice(WELL_KNOWN.length);
    if (path !== '' && !path.startsWith('/')) return undefined;
    const isPrefixed = path === this.#prefix || path.startsWith(`${this.#prefix}/`);
    return isPrefixed ? path.slice(this.#prefix.length) : path;
  }

  /** The address of a path; an empty one is the gateway as a whole. */
  addressOf(path: string): string {
    return `${this.#origin}${this.#prefix}${path}`;
  }

  /** The document of a path; an empty one is the gateway as a whole. */
  document(path: string, scopes: readonly string[]): ResourceDocument {
    return {
      resource: this.addressOf(path),
      authorization_servers: this.#issuers,
      bearer_methods_supported: ['header'],
      ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    };
  }

  /**
   * The value of `WWW-Authenticate`. One form serves every protocol version: parameters that a client
   * does not know are ignored (RFC 9110 11.6.1), and 2025-06-18 needs `resource_metadata`, later ones
   * read `scope` and `error` too.
   */
  challenge(path: string, { error, description, scopes }: Challenge): string {
    if (!this.hasIssuers) return 'Bearer realm="sluice"';
    const metadata = `${this.#origin}${WELL_KNOWN}${this.#prefix}${path}`;
    const parts = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      ...(description === undefined ? [] : [`error_description="${description}"`]),
      ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
      `resource_metadata="${metadata}"`,
    ];
    return `Bearer ${parts.join(', ')}`;
  }
}
