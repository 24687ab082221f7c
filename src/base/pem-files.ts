// Checks files of certificates and keys when the configuration is loaded, so that errors don't appear only at
// the first connection.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readTextFile, UnusableFile } from './bounded-file.ts';
import { wallClockMs } from './clock.ts';

const MAX_BYTES = 1024 * 1024;

/** The files of one identity; absolute paths. */
export interface PemFiles {
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Certificates of the authorities that sign the peer's certificate. */
  readonly ca?: string | undefined;
}

/** What is wrong with one file. */
export interface PemFault {
  readonly file: keyof PemFiles;
  /** Without its subject, which is the option: `is /x.pem, but there is no such file`. */
  readonly message: string;
}

/** Everything that is wrong with these files. */
export function pemFaults(files: PemFiles): PemFault[] {
  const faults: PemFault[] = [];
  const cert = read(files, 'cert', certificateOf, faults);
  const key = read(files, 'key', createPrivateKey, faults);
  read(files, 'ca', certificateOf, faults);
  if (cert !== undefined && key !== undefined && !cert.checkPrivateKey(key)) {
    const message = `is ${files.key}, which is not the key of the certificate ${files.cert}: must be the one that it was made with`;
    faults.push({ file: 'key', message });
  }
  if (cert !== undefined && cert.validToDate.getTime() < wallClockMs()) {
    const message = `is ${files.cert}, which expired on ${cert.validTo}: renew it`;
    faults.push({ file: 'cert', message });
  }
  return faults;
}

const WANTED = {
  cert: 'a certificate in PEM form (-----BEGIN CERTIFICATE-----)',
  key: 'a private key in PEM form without a passphrase (-----BEGIN PRIVATE KEY-----)',
  ca: 'certificates in PEM form (-----BEGIN CERTIFICATE-----)',
} as const;

function read<T extends X509Certificate | KeyObject>(
  files: PemFiles,
  file: keyof PemFiles,
  parse: (text: string) => T,
  faults: PemFault[],
): T | undefined {
  const path = files[file];
  if (path === undefined) return undefined;
  try {
    return parse(readTextFile(path, MAX_BYTES));
  } catch (error) {
    const why = error instanceof UnusableFile ? error.message : 'it is none';
    faults.push({ file, message: `is ${path}, but ${why}: must be ${WANTED[file]}` });
    return undefined;
  }
}

function certificateOf(text: string): X509Certificate {
  return new X509Certificate(text);
}
