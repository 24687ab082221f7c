// One remote URL over HTTP/1.1: connections, access, redirects within the origin, and the meaning of
// failures. Knows nothing about messages.
import { wallClockMs } from '../../base/clock.ts';
import type { FindOwner } from '../../base/held-bytes.ts';
import { type HttpPool, ProxyFailure, TooManyInformational } from '../../base/http-pool.ts';
import { TurnQuota } from '../../base/turns.ts';
import type { Logger } from '../../observe/logger.ts';
import type { ChannelEvents, RequestFailure } from '../../ports/channel.ts';
import type { Principal } from '../../ports/principal.ts';
import { HttpFailure } from '../credentials/http-failure.ts';
import type { Headers, RemoteAccess } from '../credentials/remote-access.ts';
import type { Body } from './answer-body.ts';

const UNAUTHORIZED = 401;
const TOO_MANY_REQUESTS = 429;
const MAX_REDIRECTS = 3;
const MAX_HEADER_BYTES = 64 * 1024;
/** Connections for calls beyond the limit of a server: the gateway's own lists and subscriptions. */
const SPARE_CONNECTIONS = 32;
/** Connections for everything that is not a call. Separate, so that calls always have connections. */
const OTHER_CONNECTIONS = 32;
/** How much is read on one connection in a turn of the event loop. */
const TURN_BYTES = 64 * 1024;
/** How long reading the rest of an unused answer may take. */
const DISCARD_MS = 2_000;

const MAX_RETRY_AFTER_MS = 86_400_000;

/** Codes of failures before the first byte of a request was sent. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** What the user can do. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no program listens there; start it, or correct the URL',
  ENOTFOUND: 'there is no host of that name; correct the URL',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within 5 s; is a firewall or a proxy between',
};
const NOT_TRUSTED =
  'its certificate is not trusted, or not for that name; correct the URL, or set tls.ca';

/** The head of an answer, and its body. */
export interface HttpAnswer extends Body {
  readonly status: number;
  /** Media type in lower case, without parameters; empty if there is none. */
  readonly type: string;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** Reads and drops the body, so that the connection can be used again. */
  discard(): void;
  /** Ends the answer, and with it the connection. */
  cut(): void;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** In addition to the endpoint's own. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Ends the request, or the reading of its answer. */
  readonly signal: AbortSignal;
  /** Whether a call waits for the answer. */
  readonly isCall?: boolean;
  /** The sender; absent for the gateway itself. */
  readonly from?: Principal | undefined;
  /** How long the head of the answer may take, in milliseconds; 0: without limit. */
  readonly headMs: number;
}

/** What a channel to a remote server gets. */
export interface RemoteParts {
  readonly events: ChannelEvents;
  readonly logger: Logger;
  readonly access: RemoteAccess;
  /** The principal for the gateway's own requests; undefined on a shared connection. */
  readonly principal: () => Principal | undefined;
  /** Counts the bytes that are held for the server. */
  readonly owner: FindOwner;
}

/** The options of a server that such a channel obeys. */
export interface RemoteOptions {
  readonly limits: { readonly inFlight: number; readonly message: number };
  readonly timeouts: { readonly start: number; readonly requestMax: number; readonly stop: number };
}

/** The URL of a remote server. */
export class HttpEndpoint {
  readonly url: URL;
  readonly #access: RemoteAccess;
  readonly #principal: () => Principal | undefined;
  readonly #owner: FindOwner;
  readonly #calls: HttpPool;
  readonly #others: HttpPool;
  /** How much of what it sends is read in a turn of the event loop. */
  readonly quota: TurnQuota;

  /** @param calls how many requests may wait for their answer at once */
  constructor(
    target: { readonly url: string },
    calls: number,
    { access, principal, owner }: Pick<RemoteParts, 'access' | 'principal' | 'owner'>,
  ) {
    this.#owner = owner;
    this.url = new URL(target.url);
    this.#access = access;
    this.#principal = principal;
    this.quota = new TurnQuota(TURN_BYTES, access.reading);
    const options = {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      bodyTimeout: 0,
    };
    this.#calls = access.pool(this.url, { ...options, connections: calls + SPARE_CONNECTIONS });
    this.#others = access.pool(this.url, { ...options, connections: OTHER_CONNECTIONS });
  }

  /**
   * The failure of requests while the server has asked for a pause; otherwise undefined.
   * @param from the sender
   */
  quiet(from?: Principal): RequestFailure | undefined {
    return this.#access.quiet(from ?? this.#principal());
  }

  /**
   * Sends a request.
   * @param url on the endpoint's origin; the endpoint itself by default
   * @throws HttpFailure if there is no answer, or one that redirects to another origin
   */
  async request(request: HttpRequest, url: URL = this.url): Promise<HttpAnswer> {
    const { from } = request;
    const own = await this.#ownHeaders(from);
    const answer = await this.#follow(request, own, url);
    if (answer.status !== UNAUTHORIZED || !this.#mayComeInWith(own, from)) return answer;
    // The server refused it before it processed anything, so it may be sent again.
    answer.discard();
    return await this.#follow(request, await this.#ownHeaders(from), url);
  }

  async #follow(request: HttpRequest, own: Headers, url: URL): Promise<HttpAnswer> {
    let target = url;
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#once(request, own, target);
      if (answer.status === TOO_MANY_REQUESTS) {
        const quietMs = retryAfterMs(answer.header('retry-after'));
        if (quietMs !== undefined)
          this.#access.leaveAlone(quietMs, request.from ?? this.#principal());
      }
      if (answer.status < 300 || answer.status > 399) return answer;
      answer.discard();
      target = this.#redirected(answer, target, redirects);
    }
  }

  async #ownHeaders(from: Principal | undefined): Promise<Headers> {
    try {
      return await this.#access.headers(from ?? this.#principal());
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** Whether the server may accept the request with other credentials. */
  #mayComeInWith(refused: Headers, from: Principal | undefined): boolean {
    try {
      return this.#access.refused(refused, from ?? this.#principal());
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all([this.#calls.destroy(), this.#others.destroy()]);
  }

  async #once(request: HttpRequest, own: Headers, target: URL): Promise<HttpAnswer> {
    const { method, headers, body, signal, headMs, isCall } = request;
    const pool = isCall === true ? this.#calls : this.#others;
    try {
      const {
        statusCode,
        headers: received,
        body: stream,
      } = await pool.request({
        path: `${target.pathname}${target.search}`,
        method,
        headers: {
          'user-agent': 'sluice',
          ...own,
          // Messages are passed on as bytes and are not decompressed.
          'accept-encoding': 'identity',
          ...headers,
        },
        body: body ?? null,
        signal,
        headersTimeout: headMs,
        bodyTimeout: 0,
      });
      return {
        status: statusCode,
        type: mediaType(received['content-type']),
        header: (name) => firstOf(received[name]),
        body: stream,
        quota: this.quota,
        owner: this.#owner,
        discard: () => {
          const limit = { limit: MAX_HEADER_BYTES, signal: AbortSignal.timeout(DISCARD_MS) };
          stream.dump(limit).catch(() => undefined);
        },
        cut: () => {
          stream.on('error', () => undefined).destroy();
        },
      };
    } catch (error) {
      throw failureOf(error);
    }
  }

  // Only 307 and 308 keep method and body. Headers may be sent only to the configured origin
  // (docs/reliability.md#d04).
  #redirected(answer: HttpAnswer, from: URL, redirects: number): URL {
    const location = answer.header('location');
    const to = location === undefined ? null : URL.parse(location, from);
    const keepsMethod = answer.status === 307 || answer.status === 308;
    if (keepsMethod && to?.origin === this.url.origin && redirects < MAX_REDIRECTS) return to;
    const what = `answered HTTP ${answer.status} with a redirect to another address, which is not followed; put the right address into url.`;
    const failure = { reason: 'server_protocol_error', outcome: 'unknown', what } as const;
    throw new HttpFailure({ ...failure, isLasting: true });
  }
}

function failureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (error instanceof ProxyFailure) {
    const what = `could not be reached: its proxy ${error.message}.`;
    const failure = { reason: 'server_unavailable', outcome: 'not_sent', what } as const;
    return new HttpFailure(failure, error, true);
  }
  const code = codeOf(error);
  const isUntrusted = code.includes('CERT') || /^(ERR_TLS|ERR_SSL|UNABLE_TO)_/.test(code);
  if (isUntrusted || UNREACHABLE.has(code) || hasSyscall(error)) {
    const advice = isUntrusted ? NOT_TRUSTED : (ADVICE[code] ?? 'look at the network between');
    const what = `could not be reached (${code}): ${advice}.`;
    const isLasting = isUntrusted || code === 'ENOTFOUND';
    const failure = { reason: 'server_unavailable', outcome: 'not_sent', what, isLasting } as const;
    return new HttpFailure(failure, error, true);
  }
  if (error instanceof TooManyInformational) {
    const what = 'sent too many informational responses (HTTP 1xx) and no answer.';
    const failure = { reason: 'server_protocol_error', outcome: 'unknown', what } as const;
    return new HttpFailure(failure, error);
  }
  const isSlow = code === 'UND_ERR_HEADERS_TIMEOUT';
  const reason = isSlow ? 'server_timeout' : 'server_exited';
  const what = isSlow
    ? 'did not answer in time.'
    : `closed the connection before it answered (${code}); it may have run the request.`;
  return new HttpFailure({ reason, outcome: 'unknown', what }, error);
}

/** Not the message, because it may contain the address. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function hasSyscall(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'connect';
}

function mediaType(header: string | string[] | undefined): string {
  return (firstOf(header)?.split(';')[0] ?? '').trim().toLowerCase();
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/**
 * The pause that a server asks for: the Retry-After header (RFC 9110 10.2.3).
 * @param value seconds, or a date
 * @returns milliseconds from now; undefined if it can't be read
 */
export function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Math.min(Number(value) * 1_000, MAX_RETRY_AFTER_MS);
  const atMs = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs)
    ? undefined
    : Math.min(Math.max(atMs - wallClockMs(), 0), MAX_RETRY_AFTER_MS);
}
