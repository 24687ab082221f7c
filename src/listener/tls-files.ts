// The certificate of the public listener: read from files, and read again when they change, so that a
// renewed one needs no restart. Connections that are open keep the one they have.
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import type { TlsOptions as NodeTlsOptions, SecureContextOptions } from 'node:tls';
import { WatchedFiles } from '../base/watched-files.ts';
import type { Logger } from '../observe/logger.ts';
import type { TlsOptions } from './options.ts';

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
 * @returns to be closed with the server
 */
export function reloadTls(options: TlsOptions, server: Server, logger: Logger): WatchedFiles {
  const { cert, key, clientCa } = options;
  const files = clientCa === undefined ? [cert, key] : [cert, key, clientCa];
  return new WatchedFiles(files, () => {
    try {
      server.setSecureContext(contextOf(options));
      logger.info({ cert }, 'certificate reloaded');
    } catch (error) {
      // Between the change of one file and of the other they do not fit.
      logger.error({ err: error }, 'certificate not reloaded, the old one stays');
    }
  });
}

function contextOf({ cert, key, clientCa }: TlsOptions): SecureContextOptions {
  return {
    cert: readFileSync(cert),
    key: readFileSync(key),
    ...(clientCa === undefined ? {} : { ca: readFileSync(clientCa) }),
    minVersion: MIN_VERSION,
  };
}
