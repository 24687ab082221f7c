// Which combinations of options are safe: what other machines reach is authenticated and encrypted, and
// what is promised to clients can be kept. A start that would be unsafe is refused with what to do
// (docs/reliability.md#a05).
import type { AdminOptions } from '../admin/options.ts';
import type { AuthOptions } from '../auth/options.ts';
import { isLoopbackHost } from '../base/loopback.ts';
import type { ListenOptions } from '../listener/options.ts';
import type { ConfigPath, Fault } from './issues.ts';

/** Options as the file has them, or resolved: the keys that matter here are the same. */
export type RawOptions = Readonly<Record<string, unknown>>;

/**
 * What must not start. Copes with options that are wrong in themselves, so that one run reports
 * everything.
 *
 * @param listen `listen:`
 * @param auth undefined when it is `none`, `unclear` when it is wrong in itself
 */
export function unsafeOptions(
  listen: RawOptions,
  auth: AuthOptions | 'unclear' | undefined,
): Fault[] {
  const faults: Fault[] = [];
  const refuse = (path: ConfigPath, message: string): void => {
    faults.push({ path, at: 'value', message });
  };
  const { host, tls, tlsTerminatedUpstream, publicUrl } = listen;
  const isOpen = typeof host === 'string' && !isLoopbackHost(host);
  if (isOpen && auth === undefined && listen['allowUnauthenticated'] !== true) {
    refuse(['listen', 'host'], UNAUTHENTICATED);
  }
  if (isOpen && auth !== undefined && tls === undefined && tlsTerminatedUpstream !== true) {
    refuse(['listen', 'host'], CLEAR_TEXT);
  }
  if (auth === undefined || auth === 'unclear') return faults;
  if (auth.issuers.length > 0 && publicUrl === undefined) {
    refuse(
      ['listen', 'publicUrl'],
      'is missing: must be the address that clients use, since tokens of auth.issuers are made for it',
    );
  }
  if (auth.certificates.length > 0 && !asksForCertificates(tls)) {
    refuse(
      ['auth', 'certificates'],
      'needs certificates of clients: set listen.tls.clientCerts and listen.tls.clientCa',
    );
  }
  return faults;
}

const UNAUTHENTICATED =
  'is reachable from other machines and no authentication is configured: must be a loopback address such as 127.0.0.1, or set listen.allowUnauthenticated: true if only trusted peers reach the port, or configure auth';
const CLEAR_TEXT =
  'is reachable from other machines without encryption, so that keys and tokens could be read on their way: must be a loopback address such as 127.0.0.1, or set listen.tls, or set listen.tlsTerminatedUpstream: true if a proxy in front has TLS';

function asksForCertificates(tls: unknown): boolean {
  if (typeof tls !== 'object' || tls === null || !('clientCerts' in tls)) return false;
  return tls.clientCerts === 'optional' || tls.clientCerts === 'required';
}

/** The options that may be risky together. */
export interface Exposure {
  readonly listen: ListenOptions;
  readonly admin: AdminOptions;
  readonly auth: AuthOptions | undefined;
}

/** What may start, and should be said. */
export function riskyOptions({ listen, admin, auth }: Exposure): Fault[] {
  const warnings: Fault[] = [];
  const warn = (path: ConfigPath, message: string): void => {
    warnings.push({ path, at: 'value', message });
  };
  if (isUnauthenticated({ listen, auth })) {
    warn(
      ['listen', 'host'],
      'is served to other machines without authentication, since listen.allowUnauthenticated is true',
    );
  }
  if (admin.allowRemote && admin.socket === undefined && !isLoopbackHost(admin.host)) {
    warn(['admin', 'host'], 'is served to other machines, since admin.allowRemote is true');
  }
  return warnings;
}

/** Whether other machines are served without authentication. */
export function isUnauthenticated({ listen, auth }: Pick<Exposure, 'listen' | 'auth'>): boolean {
  return auth === undefined && !isLoopbackHost(listen.host);
}

/**
 * Whether clients are whoever runs the gateway: on this machine, with nothing that tells them apart.
 * They may read in an error what the log says; others get the reason alone (docs/reliability.md#h05).
 */
export function servesItsOwner({ listen, auth }: Pick<Exposure, 'listen' | 'auth'>): boolean {
  return auth === undefined && isLoopbackHost(listen.host);
}
