// Host and Origin allow-lists, checked before anything else on every transport and on the upgrade
// (2025-11-25 basic/transports security; reliability.md A01, A02, A07). Exact matches only.

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export interface GuardOptions {
  /** What the listener is bound to. */
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly publicUrl: string | undefined;
}

/** Why a request is refused. */
export interface GuardRefusal {
  readonly status: 400 | 403;
  readonly message: string;
}

/** Headers that must not come twice: whoever reads the other one would decide differently. */
type Watched = 'host' | 'origin' | 'authorization';

const TWICE: Readonly<Record<Watched, GuardRefusal>> = {
  host: { status: 400, message: 'Two Host headers.' },
  origin: { status: 403, message: 'Two Origin headers.' },
  authorization: { status: 400, message: 'Two Authorization headers.' },
};

/** Decides by `Host` and `Origin`. */
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

  /** Pages that the gateway's own address serves count as its own; called once the port is known. */
  allowOwnPort(scheme: 'http' | 'https', port: number): void {
    for (const name of LOOPBACK_NAMES) this.#origins.add(`${scheme}://${name}:${port}`);
  }

  /**
   * Checks one request.
   * @param rawHeaders names and values in turn, as the parser read them: duplicates show
   * @param isPublic for what every page may read
   * @returns undefined when it may pass
   */
  check(rawHeaders: readonly string[], isPublic = false): GuardRefusal | undefined {
    const found: Partial<Record<Watched, string>> = {};
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = watchedName(rawHeaders[at] as string);
      if (name === undefined) continue;
      if (found[name] !== undefined) return TWICE[name];
      found[name] = rawHeaders[at + 1] ?? '';
    }
    return this.#judge(found.host, isPublic ? undefined : found.origin);
  }

  #judge(host: string | undefined, origin: string | undefined): GuardRefusal | undefined {
    if (host === undefined || host === '') return { status: 400, message: 'No Host header.' };
    if (!this.#isKnownHost(host)) return { status: 403, message: hostAdvice(host) };
    if (origin !== undefined && !this.isAllowedOrigin(origin)) {
      return { status: 403, message: 'This origin is not in listen.allowedOrigins.' };
    }
    return undefined;
  }

  isAllowedOrigin(origin: string): boolean {
    return this.#origins.has(origin);
  }

  // A name that is listed without a port is allowed with any.
  #isKnownHost(host: string): boolean {
    const lower = host.toLowerCase();
    if (this.#hosts.has(lower)) return true;
    const match = /^(.+):(\d{1,5})$/.exec(lower);
    return match?.[1] !== undefined && this.#hosts.has(match[1]);
  }
}

function hostAdvice(host: string): string {
  const shown = /^[\w.:[\]-]{1,100}$/.test(host) ? ` "${host}"` : '';
  return `Host${shown} is not served here; add it to listen.allowedHosts if it should be.`;
}

// Most headers are told apart by their length alone.
function watchedName(name: string): Watched | undefined {
  const { length } = name;
  if (length !== 4 && length !== 6 && length !== 13) return undefined;
  const lower = name.toLowerCase();
  return lower === 'host' || lower === 'origin' || lower === 'authorization' ? lower : undefined;
}
