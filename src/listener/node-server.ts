// Node's HTTP server, configured for the public listener; it listens on every address of a name.
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

/** Creates the server. It does not listen yet. */
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
    // Upgrades to other protocols are ignored, which clients must expect (RFC 9110 7.8).
    shouldUpgradeCallback: ({ headers }) =>
      /(?:^|,) *websocket *(?:,|$)/i.test(headers.upgrade ?? ''),
  };
  if (tls === undefined) return createServer(options, listener);
  const secure = { ...tlsOptions(tls), ...options, handshakeTimeout: bounds.headersMs };
  return createSecureServer(secure, listener) as unknown as Server;
}

/**
 * Called when the server listens. Keeps it running after errors, and listens on the other addresses of
 * `localhost`, since clients may try any of them first.
 * @param server listens on one of the addresses
 * @returns the servers for the other addresses
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
    // If this machine does not have the address, nobody can connect to it.
    const isOpen = await new Promise((resolve) => {
      beside.once('error', () => resolve(false)).listen(port, address, () => resolve(true));
    });
    if (!isOpen) return [];
    outliveErrors(beside, logger);
    return [beside];
  });
  return (await Promise.all(opened)).flat();
}

/** When no file descriptor is left, a connection can't be accepted, but the server must keep listening. */
function outliveErrors(server: TcpServer, logger: Logger): void {
  const line = new RareLine<Error>((count, err) => {
    logger.error({ err, count }, 'a connection could not be accepted');
  });
  server.on('error', (error) => line.note(error));
}
