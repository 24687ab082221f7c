// The names in a client's certificate that the listener has verified against `listen.tls.clientCa`, and
// how long it is good.
import type { IncomingMessage } from 'node:http';
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls';

/** More than any chain that is sent. */
const MAX_CHAIN = 10;

/** What is known of a client by its certificate. */
export interface CertificateNames {
  /** Subject alternative names as Node writes them, `DNS:a.example`. */
  readonly names: readonly string[];
  /** When it, or one that it is signed with, is good no more; in milliseconds since 1970. */
  readonly expiresAtMs: number;
}

const NONE: CertificateNames = { names: [], expiresAtMs: Number.POSITIVE_INFINITY };
/** Reading a certificate costs more than a request; a connection keeps its certificate. */
const known = new WeakMap<TLSSocket, CertificateNames>();

/** The names of the certificate that a request's connection came with; none without a verified one. */
export function certificateNames(request: IncomingMessage): CertificateNames {
  const { socket } = request;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return NONE;
  let found = known.get(socket);
  if (found === undefined) {
    const certificate = socket.getPeerCertificate(true);
    found = { names: namesIn(certificate.subjectaltname), expiresAtMs: endOf(certificate) };
    known.set(socket, found);
  }
  return found;
}

// Node puts a name that could be taken for several in quotes (CVE-2021-44532): such names are nobody's.
function namesIn(text: string | undefined): readonly string[] {
  if (text === undefined || text.includes('"')) return [];
  return text.split(', ').filter((name) => /^(DNS|URI|email|IP Address):[^\s,]+$/.test(name));
}

/** An end that can't be read is one that has come. */
function endOf(certificate: DetailedPeerCertificate): number {
  let endMs = Number.POSITIVE_INFINITY;
  let one: DetailedPeerCertificate | undefined = certificate;
  for (let length = 0; one !== undefined && length < MAX_CHAIN; length++) {
    const ms = Date.parse(one.valid_to);
    endMs = Math.min(endMs, Number.isNaN(ms) ? 0 : ms);
    // The last one is its own issuer.
    const issuer: DetailedPeerCertificate | undefined = one.issuerCertificate;
    one = issuer === one ? undefined : issuer;
  }
  return endMs;
}
