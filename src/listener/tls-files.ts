// The certificate of the public listener. It is read from files, and again when they change, so that a
// renewed certificate needs no restart. Open connections keep the old one. If other signers of client
// certificates are trusted, connections with client certificates are closed.
import { constants } from 'node:crypto';
import type { Server } from 'node:https';
import type { TlsOptions as NodeTlsOptions, SecureContextOptions } from 'node:tls';
import { readBoundedFile } from '../base/bounded-file.ts';
import { WatchedFiles } from '../base/watched-files.ts';
import type { Logger } from '../observe/logger.ts';
import type { TlsOptions } from './options.ts';

const MAX_PEM_BYTES = 1024 * 1024;
const MIN_VERSION = 'TLSv1.2';

/** The options for `node:https`. */
export function tlsOptions(options: TlsOptions): NodeTlsOptions {
  return {
    ...contextOf(options),
    requestCert: options.clientCerts !== 'none',
    rejectUnauthorized: options.clientCerts === 'required',
  };
}

/**
 * Watches the files for changes.
 * @param distrusted called when client certificates are checked against other signers than before
 * @returns close it together with the server
 */
export function reloadTls(
  options: TlsOptions,
  server: Server,
  logger: Logger,
  distrusted: () => void,
): WatchedFiles {
  const { cert, key, clientCa } = options;
  const files = clientCa === undefined ? [cert, key] : [cert, key, clientCa];
  let trusted = signersIn(options);
  return new WatchedFiles(files, () => {
    try {
      const context = contextOf(options);
      server.setSecureContext(context);
      logger.info({ cert }, 'certificate reloaded');
      const now = String(context.ca ?? '');
      if (now === trusted) return;
      trusted = now;
      distrusted();
    } catch (error) {
      // While only one of two files was replaced, they don't match.
      logger.error({ err: error }, 'certificate not reloaded, the old one stays');
    }
  });
}

function signersIn({ clientCa }: TlsOptions): string {
  return clientCa === undefined ? '' : String(readPem(clientCa));
}

function readPem(path: string): Buffer {
  return readBoundedFile(path, MAX_PEM_BYTES);
}

function contextOf({ cert, key, clientCa, clientCerts }: TlsOptions): SecureContextOptions {
  return {
    cert: readPem(cert),
    key: readPem(key),
    ...(clientCa === undefined ? {} : { ca: readPem(clientCa) }),
    minVersion: MIN_VERSION,
    // Node does not check the client certificate of a resumed TLS session again, so it could be expired.
    ...(clientCerts === 'none' ? {} : { secureOptions: constants.SSL_OP_NO_TICKET }),
  };
}
