// Connections to one origin over HTTP/1.1, directly or through a proxy. Plain HTTP requests are sent to the
// proxy itself (RFC 9112 3.2.2); everything else goes through a tunnel (CONNECT), with TLS to the origin.
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type Undici from 'undici';
import type { buildConnector, Dispatcher, Pool } from 'undici';
import { codeOf } from './errors.ts';

const CONNECT_MS = 5_000;
const PROXY_AUTHENTICATION_REQUIRED = 407;

/** Limit of informational responses (RFC 9110 15.2) to one request. A server may send several of them. */
const MAX_INFORMATIONAL = 100;

export type Connector = buildConnector.connector;

/** The parts of undici that are used. */
type Http = Pick<typeof Undici, 'Client' | 'Pool' | 'buildConnector'>;

let loaded: Http | undefined;

/**
 * Loaded with the first connection, and only the parts that are needed. All of undici takes 15 MB more: its
 * `fetch`, caches, mocks. The paths are those of its index.js.
 */
function undici(): Http {
  if (loaded !== undefined) return loaded;
  const load = createRequire(import.meta.url);
  const dispatcher = load('undici/lib/dispatcher/dispatcher.js') as typeof Dispatcher;
  Object.assign(dispatcher.prototype, load('undici/lib/api/index.js'));
  loaded = {
    buildConnector: load('undici/lib/core/connect.js') as Http['buildConnector'],
    Client: load('undici/lib/dispatcher/client.js') as Http['Client'],
    Pool: load('undici/lib/dispatcher/pool.js') as Http['Pool'],
  };
  return loaded;
}

/** Connections to one origin. */
export interface HttpPool {
  request(options: HttpPoolRequest): Promise<Dispatcher.ResponseData>;
  /** Closes every connection. */
  destroy(): Promise<void>;
}

/** A request, without its origin. */
export type HttpPoolRequest = Omit<Dispatcher.RequestOptions, 'origin' | 'headers'> & {
  readonly headers: Record<string, string>;
};

export type HttpPoolOptions = Omit<Pool.Options, 'connect'> & {
  /**
   * Opens connections to the origin, with TLS if it is https. If `httpSocket` is given, it is used for that.
   */
  readonly connect: Connector;
};

/** How a proxy is used. */
export interface ProxyUse {
  readonly proxy: URL;
  /**
   * Gives the address that the proxy is asked to connect to instead of a host name. Absent: the host name.
   */
  readonly addressOf?: ((host: string) => Promise<string>) | undefined;
}

/** The proxy failed; the message completes "its proxy ...". */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
}

/** The server sent too many informational responses (1xx). */
export class TooManyInformational extends Error {
  override readonly name = 'TooManyInformational';
}

/** Opens a pool of connections to `origin`, through a proxy if `use` is given. */
export function openPool(
  origin: string,
  options: HttpPoolOptions,
  use: ProxyUse | undefined,
): HttpPool {
  const pool = anyPool(origin, options, use);
  return {
    destroy: () => pool.destroy(),
    request: (request) => {
      let count = 0;
      // Each informational response restarts the time limit of the response head. Throwing here ends the
      // connection.
      const onInfo = (): void => {
        if (++count > MAX_INFORMATIONAL) throw new TooManyInformational();
      };
      return pool.request({ ...request, onInfo });
    },
  };
}

function anyPool(origin: string, options: HttpPoolOptions, use: ProxyUse | undefined): HttpPool {
  const { Pool } = undici();
  if (use === undefined) return new Pool(origin, options);
  // For plain HTTP the proxy resolves the name itself.
  if (use.addressOf === undefined && origin.startsWith('http:')) {
    return forwarded(origin, options, use.proxy);
  }
  const connect: Connector = (to, callback) => {
    void openTunnel(to, use).then(
      (socket) => options.connect({ ...to, httpSocket: socket }, callback),
      (error: Error) => callback(error, null),
    );
  };
  const plain: Connector = (to, callback) => {
    void openTunnel(to, use).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
  return new Pool(origin, { ...options, connect: origin.startsWith('https:') ? connect : plain });
}

function forwarded(origin: string, options: HttpPoolOptions, proxy: URL): HttpPool {
  const pool = new (undici().Pool)(proxy.origin, { ...options, connect: toProxy() });
  const own = { ...credentialsOf(proxy), host: new URL(origin).host };
  return {
    destroy: () => pool.destroy(),
    request: async ({ path, headers, ...rest }) => {
      const answer = await pool.request({
        ...rest,
        path: `${origin}${path}`,
        headers: { ...headers, ...own },
        // Otherwise undici takes it from the host.
        ...(proxy.protocol === 'https:' ? { servername: proxy.hostname } : {}),
      });
      if (answer.statusCode !== PROXY_AUTHENTICATION_REQUIRED) return answer;
      answer.body.on('error', () => undefined).destroy();
      throw refusedBy(PROXY_AUTHENTICATION_REQUIRED);
    },
  };
}

async function openTunnel(
  { hostname, protocol, port }: buildConnector.Options,
  { proxy, addressOf }: ProxyUse,
): Promise<Socket> {
  const host = (await addressOf?.(hostname.replace(/^\[|\]$/g, ''))) ?? hostname;
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const authority = `${name}:${port || (protocol === 'https:' ? 443 : 80)}`;
  const client = new (undici().Client)(proxy.origin, {
    allowH2: false,
    connect: toProxy(),
    headersTimeout: CONNECT_MS,
  });
  try {
    const { statusCode, socket } = await client.connect({
      path: authority,
      headers: { ...credentialsOf(proxy), host: authority },
      ...(proxy.protocol === 'https:' ? { servername: proxy.hostname } : {}),
    });
    if (statusCode === 200) return socket as Socket;
    socket.on('error', () => undefined).destroy();
    throw refusedBy(statusCode);
  } catch (error) {
    if (error instanceof ProxyFailure) throw error;
    const what = `did not open a tunnel (${codeOf(error) ?? 'unknown'}); see its log`;
    throw new ProxyFailure(what, { cause: error });
  } finally {
    // An opened tunnel no longer belongs to the client.
    client.close().catch(() => undefined);
  }
}

/** Creates a function that opens connections. */
export function createConnector(options: buildConnector.BuildOptions): Connector {
  return undici().buildConnector(options);
}

/** The same, trusting the system's certificates. */
export function directConnector(timeoutMs: number): Connector {
  return createConnector({ timeout: timeoutMs, allowH2: false });
}

function toProxy(): Connector {
  const connect = directConnector(CONNECT_MS);
  return (to, callback) =>
    connect(to, (error, socket) => {
      if (error === null) callback(null, socket);
      else {
        const what = `can't be reached (${codeOf(error) ?? error.name}); look at HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or at proxy`;
        callback(new ProxyFailure(what, { cause: error }), null);
      }
    });
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

function refusedBy(status: number): ProxyFailure {
  return new ProxyFailure(
    status === PROXY_AUTHENTICATION_REQUIRED
      ? 'wants a user name and a password (HTTP 407): put them into its URL, http://USER:PASSWORD@HOST'
      : `refused with HTTP ${status}: allow the server there, or name it in NO_PROXY`,
  );
}
