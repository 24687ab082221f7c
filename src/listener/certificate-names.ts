// The names in a client's certificate that the listener has verified against `listen.tls.clientCa`.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

const NONE: readonly string[] = [];
/** Reading a certificate costs more than a request; a connection keeps its certificate. */
const known = new WeakMap<TLSSocket, readonly string[]>();

/** Subject alternative names as Node writes them, `DNS:a.example`; none without a verified certificate. */
export function certificateNames(request: IncomingMessage): readonly string[] {
  const { socket } = request;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return NONE;
  let names = known.get(socket);
  if (names === undefined) {
    names = namesIn(socket.getPeerCertificate().subjectaltname);
    known.set(socket, names);
  }
  return names;
}

// Node puts a name that could be taken for several in quotes (CVE-2021-44532): such names are nobody's.
function namesIn(text: string | undefined): readonly string[] {
  if (text === undefined || text.includes('"')) return NONE;
  return text.split(', ').filter((name) => /^(DNS|URI|email|IP Address):[^\s,]+$/.test(name));
}
