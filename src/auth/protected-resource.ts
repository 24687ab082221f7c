// Tells OAuth clients where to get tokens: the metadata documents of the endpoints (RFC 9728), and the
// challenges that point to them. Every address is made from the configured public URL, never from a request
// (docs/reliability.md#a07).
import type { AuthOptions } from './options.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The metadata document of one resource. */
export interface ResourceDocument {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly ['header'];
  readonly scopes_supported?: readonly string[];
}

/** The parts of a challenge. */
export interface Challenge {
  readonly error?: 'invalid_token' | 'insufficient_scope';
  /** For people who look for the cause. */
  readonly description?: string | undefined;
  readonly scopes: readonly string[];
}

/** The gateway as an OAuth 2.1 resource server. */
export class ProtectedResource {
  readonly #issuers: readonly string[];
  readonly #origin: string;
  /** The path of the public URL, without the last slash. */
  readonly #prefix: string;

  /** @param publicUrl the URL that clients use; undefined if there are no issuers */
  constructor(options: Pick<AuthOptions, 'issuers'>, publicUrl: string | undefined) {
    this.#issuers = options.issuers.map(({ issuer }) => issuer);
    const url = publicUrl === undefined ? undefined : new URL(publicUrl);
    this.#origin = url?.origin ?? '';
    this.#prefix = url?.pathname.replace(/\/$/, '') ?? '';
  }

  /** Whether there are authorization servers. */
  get hasIssuers(): boolean {
    return this.#issuers.length > 0;
  }

  /**
   * The audiences that a token for an endpoint may have: the gateway as a whole, and each URL of the
   * endpoint.
   * @param paths the paths of the endpoint
   */
  audiences(paths: readonly string[]): ReadonlySet<string> {
    if (!this.hasIssuers) return new Set();
    const root = `${this.#origin}${this.#prefix}`;
    const own = paths.map((path) => `${root}${path}`);
    // An origin with and without a slash is the same URL (RFC 3986 6.2.3).
    return new Set(this.#prefix === '' ? [root, `${root}/`, ...own] : [root, ...own]);
  }

  /**
   * The path of the resource whose metadata document a request asks for; undefined if it is another request.
   */
  resourcePath(target: string): string | undefined {
    if (!target.startsWith(WELL_KNOWN) || !this.hasIssuers) return undefined;
    const path = target.slice(WELL_KNOWN.length);
    if (path !== '' && !path.startsWith('/')) return undefined;
    const isPrefixed = path === this.#prefix || path.startsWith(`${this.#prefix}/`);
    return isPrefixed ? path.slice(this.#prefix.length) : path;
  }

  /** The URL of a path; an empty path means the gateway as a whole. */
  addressOf(path: string): string {
    return `${this.#origin}${this.#prefix}${path}`;
  }

  /** The document for a path; an empty path means the gateway as a whole. */
  document(path: string, scopes: readonly string[]): ResourceDocument {
    return {
      resource: this.addressOf(path),
      authorization_servers: this.#issuers,
      bearer_methods_supported: ['header'],
      ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    };
  }

  /**
   * The value of `WWW-Authenticate`. One form serves all protocol versions: clients ignore parameters that
   * they don't know (RFC 9110 11.6.1). 2025-06-18 needs `resource_metadata`; later versions also read `scope`
   * and `error`.
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
