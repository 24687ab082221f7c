// The names in a verified client certificate, and when it expires. The listener verifies certificates against
// `listen.tls.clientCa`.
import type { IncomingMessage } from 'node:http';
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls';

/** Longer than any real chain. */
const MAX_CHAIN = 10;

/** What a certificate says about a client. */
export interface CertificateNames {
  /** Subject alternative names in Node's form, `DNS:a.example`. */
  readonly names: readonly string[];
  /** When it or one of its signers expires, in milliseconds since 1970. */
  readonly expiresAtMs: number;
}

const NONE: CertificateNames = { names: [], expiresAtMs: Number.POSITIVE_INFINITY };
/** Reading a certificate costs more than a request, and a connection keeps its certificate. */
const known = new WeakMap<TLSSocket, CertificateNames>();

/** The names in the client certificate of a request's connection; none without a verified certificate. */
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

// Node quotes a name that could be read as several names (CVE-2021-44532). Such names are ignored.
function namesIn(text: string | undefined): readonly string[] {
  if (text === undefined || text.includes('"')) return [];
  return text.split(', ').filter((name) => /^(DNS|URI|email|IP Address):[^\s,]+$/.test(name));
}

/** A date that can't be read counts as expired. */
function endOf(certificate: DetailedPeerCertificate): number {
  let endMs = Number.POSITIVE_INFINITY;
  let one: DetailedPeerCertificate | undefined = certificate;
  for (let length = 0; one !== undefined && length < MAX_CHAIN; length++) {
    const ms = Date.parse(one.valid_to);
    endMs = Math.min(endMs, Number.isNaN(ms) ? 0 : ms);
    // The last certificate of a chain is its own issuer.
    const issuer: DetailedPeerCertificate | undefined = one.issuerCertificate;
    one = issuer === one ? undefined : issuer;
  }
  return endMs;
}
