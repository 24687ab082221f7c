// The certificate of the public listener: read from files, and read again when they change, so that a
// renewed one needs no restart. Connections that are open keep the one they have, and are ended where
// other signers of clients are trusted from now on.
import { constants } from 'node:crypto';
import type { Server } from 'node:https';
import type { TlsOptions as NodeTlsOptions, SecureContextOptions } from 'node:tls';
import { readBoundedFile } from '../base/bounded-file.ts';
import { WatchedFiles } from '../base/watched-files.ts';
import type { Logger } from '../observe/logger.ts';
import type { TlsOptions } from './options.ts';

const MAX_PEM_BYTES = 1024 * 1024;
const MIN_VERSION = 'TLSv1.2';

/** What `node:https` is given. */
export function tlsOptions(options: TlsOptions): NodeTlsOptions {
  return {
    ...contextOf(options),
    requestCert: options.clientCerts !== 'none',
    rejectUnauthorized: options.clientCerts === 'required',
  };
}

/**
 * Follows changes of the files.
 * @param distrusted told when clients' certificates are checked against others than before
 * @returns to be closed with the server
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
      // Between the change of one file and of the other they do not fit.
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
    // A session that is taken up again is not checked again, however long its certificate is over.
    ...(clientCerts === 'none' ? {} : { secureOptions: constants.SSL_OP_NO_TICKET }),
  };
}
