// Node's HTTP server as the public listener wants it: with its bounds, and on every address that a name
// stands for.
import { lookup } from 'node:dns/promises';
import type { RequestListener, Server, ServerOptions } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
import { createServer } from '../http/light-parts.ts';
import type { Logger } from '../observe/logger.ts';
import { RareLine } from '../observe/rare-line.ts';
import type { HttpBounds } from './http-bounds.ts';
import type { TlsOptions } from './options.ts';
import { tlsOptions } from './tls-files.ts';

/** The server, which does not listen yet. */
export function createNodeServer(
  bounds: HttpBounds,
  tls: TlsOptions | undefined,
  listener: RequestListener,
): Server {
  const options: ServerOptions = {
    headersTimeout: bounds.headersMs,
    requestTimeout: bounds.requestMs,
    keepAliveTimeout: bounds.keepAliveMs,
    connectionsCheckingInterval: bounds.sweepMs,
    // Another protocol than that is not switched to, which the client has to expect (RFC 9110 7.8).
    shouldUpgradeCallback: ({ headers }) =>
      /(?:^|,) *websocket *(?:,|$)/i.test(headers.upgrade ?? ''),
  };
  if (tls === undefined) return createServer(options, listener);
  const secure = { ...tlsOptions(tls), ...options, handshakeTimeout: bounds.headersMs };
  return createSecureServer(secure, listener) as unknown as Server;
}

/**
 * To be called once it listens: outlives errors, and listens on the other addresses of `localhost`, since
 * clients try one or the other first.
 * @param server listens on one of them
 * @returns what listens there for it
 */
export async function listenBeside(
  server: Server,
  host: string,
  logger: Logger,
): Promise<TcpServer[]> {
  outliveErrors(server, logger);
  if (host !== 'localhost') return [];
  const { address: own, port } = server.address() as AddressInfo;
  const addresses = await lookup(host, { all: true }).catch(() => []);
  const others = addresses.filter(({ address }) => address !== own);
  const opened = others.map(async ({ address }) => {
    const beside = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      server.emit('connection', socket);
    });
    // Where this machine has a name for it and no such address, nobody can connect there.
    const isOpen = await new Promise((resolve) => {
      beside.once('error', () => resolve(false)).listen(port, address, () => resolve(true));
    });
    if (!isOpen) return [];
    outliveErrors(beside, logger);
    return [beside];
  });
  return (await Promise.all(opened)).flat();
}

/** A server that listens goes on when it can't take a connection, since no descriptor is left for it. */
function outliveErrors(server: TcpServer, logger: Logger): void {
  const line = new RareLine<Error>((count, err) => {
    logger.error({ err, count }, 'a connection could not be taken');
  });
  server.on('error', (error) => line.note(error));
}
