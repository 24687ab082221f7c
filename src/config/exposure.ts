// Checks which combinations of options are safe: what other machines can reach must be authenticated and
// encrypted, and promises to clients must be possible. An unsafe configuration is refused, with what to do
// (docs/reliability.md#a05).
import type { AuthOptions } from '../auth/options.ts';
import { isLoopbackHost } from '../base/loopback.ts';
import type { Config } from './config.ts';
import { Findings, formatPath } from './issues.ts';

/**
 * Reports unsafe options. Accepts options that are invalid themselves, so that one run reports everything.
 * @param listen as in the file, or resolved: the keys that matter are the same
 * @param auth undefined if it is `none`, `unclear` if it is invalid
 */
export function unsafeOptions(
  listen: Readonly<Record<string, unknown>>,
  auth: AuthOptions | 'unclear' | undefined,
  found: Findings,
): void {
  const { host, tls, tlsTerminatedUpstream, publicUrl } = listen;
  const isOpen = typeof host === 'string' && !isLoopbackHost(host);
  if (isOpen && auth === undefined && listen['allowUnauthenticated'] !== true) {
    found.fault(['listen', 'host'], UNAUTHENTICATED);
  }
  if (isOpen && auth !== undefined && tls === undefined && tlsTerminatedUpstream !== true) {
    found.fault(['listen', 'host'], CLEAR_TEXT);
  }
  if (auth === undefined || auth === 'unclear') return;
  if (auth.issuers.length > 0 && publicUrl === undefined) {
    found.fault(
      ['listen', 'publicUrl'],
      'is missing: must be the address that clients use, since tokens of auth.issuers are made for it',
    );
  }
  if (auth.certificates.length > 0 && !asksForCertificates(tls)) {
    found.fault(
      ['auth', 'certificates'],
      'needs certificates of clients: set listen.tls.clientCerts and listen.tls.clientCa',
    );
  }
}

const UNAUTHENTICATED =
  'is reachable from other machines and no authentication is configured: must be a loopback address such as 127.0.0.1, or set listen.allowUnauthenticated: true if only trusted peers reach the port, or configure auth';
const CLEAR_TEXT =
  'is reachable from other machines without encryption, so that keys and tokens could be read on their way: must be a loopback address such as 127.0.0.1, or set listen.tls, or set listen.tlsTerminatedUpstream: true if a proxy in front has TLS';

function asksForCertificates(tls: unknown): boolean {
  if (typeof tls !== 'object' || tls === null || !('clientCerts' in tls)) return false;
  return tls.clientCerts === 'optional' || tls.clientCerts === 'required';
}

/** What is unsafe of a listener that is there already, with other options beside it: one sentence each. */
export function exposureFaults({ listen, auth }: Pick<Config, 'listen' | 'auth'>): string[] {
  const found = new Findings();
  unsafeOptions({ ...listen }, auth, found);
  return found.faults.map(
    ({ path, message }) => `${formatPath(path)}: as it is until a restart, ${message}`,
  );
}

type Exposure = Pick<Config, 'listen' | 'admin' | 'auth'>;

/** Warns about options that are allowed but risky. */
export function riskyOptions({ listen, admin, auth }: Exposure, found: Findings): void {
  if (isUnauthenticated({ listen, auth })) {
    found.warn(
      ['listen', 'host'],
      'is served to other machines without authentication, since listen.allowUnauthenticated is true',
    );
  }
  if (admin.allowRemote && admin.socket === undefined && !isLoopbackHost(admin.host)) {
    found.warn(['admin', 'host'], 'is served to other machines, since admin.allowRemote is true');
  }
}

/** Whether other machines are served without authentication. */
export function isUnauthenticated({ listen, auth }: Pick<Exposure, 'listen' | 'auth'>): boolean {
  return auth === undefined && !isLoopbackHost(listen.host);
}

/**
 * Whether the clients are the user who runs the gateway: on this machine, without authentication. Errors may
 * then tell them what the log says; other clients get only the reason (docs/reliability.md#h05).
 */
export function servesItsOwner({ listen, auth }: Pick<Exposure, 'listen' | 'auth'>): boolean {
  return auth === undefined && isLoopbackHost(listen.host);
}
