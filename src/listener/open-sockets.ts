// The connections that are open at a listener: what is on its way to their clients, and which of them
// came with a certificate.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { delay, monotonicMs } from '../base/clock.ts';

/** How long clients may take to read what they were sent last. */
const LAST_WORDS_MS = 1_000;
const LAST_WORDS_POLL_MS = 20;

/** All of one server. */
export class OpenSockets {
  readonly #sockets = new Set<Socket>();

  /** @param isSecure whether a connection is one only after its TLS handshake */
  constructor(server: Pick<Server, 'on'>, isSecure: boolean) {
    server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Whether anything is on its way to a client. */
  get hasUnsent(): boolean {
    for (const { writableLength } of this.#sockets) if (writableLength > 0) return true;
    return false;
  }

  /** Gives clients a moment to read what they were sent last. */
  async sent(): Promise<void> {
    const endMs = monotonicMs() + LAST_WORDS_MS;
    while (this.hasUnsent && monotonicMs() < endMs) await delay(LAST_WORDS_POLL_MS);
  }

  /** Ends those that came with a client certificate, so that it is shown again. */
  endCertified(): void {
    for (const socket of this.#sockets) {
      if (socket instanceof TLSSocket && socket.authorized) socket.destroy();
    }
  }
}
