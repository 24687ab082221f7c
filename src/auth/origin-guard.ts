// Checks Host and Origin against lists, before anything else, on every transport and for upgrades (2025-11-25
// basic/transports security; docs/reliability.md#a01, #a02, #a07). Exact matches only.

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export interface GuardOptions {
  /** The address that the listener is bound to. */
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly publicUrl?: string | undefined;
}

/** Why a request is refused. */
export interface GuardRefusal {
  readonly status: 400 | 403;
  readonly message: string;
}

/** Headers that must not be duplicated: another program may read the other one, and decide differently. */
type WatchedHeader = 'host' | 'origin' | 'authorization' | 'sec-fetch-site';

const TWICE: Readonly<Record<WatchedHeader, GuardRefusal>> = {
  host: { status: 400, message: 'Two Host headers.' },
  origin: { status: 403, message: 'Two Origin headers.' },
  authorization: { status: 400, message: 'Two Authorization headers.' },
  'sec-fetch-site': { status: 403, message: 'Two Sec-Fetch-Site headers.' },
};

/** What a browser says about pages of other origins. For requests that only read, it sends no Origin. */
const FOREIGN: ReadonlySet<string> = new Set(['cross-site', 'same-site']);
const MAX_PORT = 65_535;
const BAD_PORT: GuardRefusal = { status: 400, message: 'The Host header has no valid port.' };

/** Checks `Host` and `Origin`. */
export class OriginGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: Set<string>;

  constructor(options: GuardOptions) {
    const bound = options.host.includes(':') ? `[${options.host}]` : options.host;
    const hosts = [...LOOPBACK_NAMES, bound, ...options.allowedHosts];
    const origins = [...options.allowedOrigins];
    if (options.publicUrl !== undefined) {
      const url = new URL(options.publicUrl);
      hosts.push(url.host);
      origins.push(url.origin);
    }
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(origins);
  }

  /** Allows pages that the gateway's own address serves. Called when the port is known. */
  allowOwnPort(scheme: 'http' | 'https', port: number): void {
    for (const name of LOOPBACK_NAMES) this.#origins.add(`${scheme}://${name}:${port}`);
  }

  /**
   * Checks one request.
   * @param rawHeaders names and values in turn, as parsed, including duplicates
   * @param isPublic for documents that every page may read
   * @returns undefined if the request is fine
   */
  check(rawHeaders: readonly string[], isPublic = false): GuardRefusal | undefined {
    const found: Partial<Record<WatchedHeader, string>> = {};
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = watchedName(rawHeaders[at] as string);
      if (name === undefined) continue;
      if (found[name] !== undefined) return TWICE[name];
      found[name] = rawHeaders[at + 1] ?? '';
    }
    return this.#judgeHost(found.host) ?? (isPublic ? undefined : this.#judgePage(found));
  }

  // A name in the list without a port is allowed with any port.
  #judgeHost(host: string | undefined): GuardRefusal | undefined {
    if (host === undefined || host === '') return { status: 400, message: 'No Host header.' };
    const lower = host.toLowerCase();
    const [, name, port] = /^(.+):(\d{1,5})$/.exec(lower) ?? [];
    if (Number(port) > MAX_PORT) return BAD_PORT;
    if (this.#hosts.has(lower)) return undefined;
    if (name !== undefined && this.#hosts.has(name)) return undefined;
    return { status: 403, message: hostAdvice(host) };
  }

  #judgePage({
    origin,
    'sec-fetch-site': site,
  }: Partial<Record<WatchedHeader, string>>): GuardRefusal | undefined {
    if (origin !== undefined) {
      return this.#origins.has(origin) ? undefined : { status: 403, message: originAdvice(origin) };
    }
    return site !== undefined && FOREIGN.has(site.toLowerCase())
      ? { status: 403, message: pageAdvice(site) }
      : undefined;
  }
}

function hostAdvice(host: string): string {
  const shown = /^[\w.:[\]-]{1,100}$/.test(host) ? ` "${host}"` : '';
  return `Host${shown} is not served here; add it to listen.allowedHosts if it should be.`;
}

function originAdvice(origin: string): string {
  const shown = /^[\w.:/[\]-]{1,200}$/.test(origin) ? ` "${origin}"` : '';
  return `Origin${shown} is not allowed; add it to listen.allowedOrigins if it should be.`;
}

function pageAdvice(site: string): string {
  return `A page of another origin (Sec-Fetch-Site: ${site.toLowerCase()}) may not do this without an Origin header that is in listen.allowedOrigins.`;
}

// Most header names differ in length already.
function watchedName(name: string): WatchedHeader | undefined {
  const { length } = name;
  if (length !== 4 && length !== 6 && length !== 13 && length !== 14) return undefined;
  const lower = name.toLowerCase();
  if (lower === 'sec-fetch-site') return lower;
  return lower === 'host' || lower === 'origin' || lower === 'authorization' ? lower : undefined;
}
