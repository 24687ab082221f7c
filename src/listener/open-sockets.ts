// The connections that are open at a listener: whose they are, what waits on them, what is on its way to
// their clients, and which of them came with a certificate.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { delay, monotonicMs } from '../base/clock.ts';
import { LEAST_COST, TurnQuota } from '../base/turns.ts';

/** How long clients may take to read what they were sent last. */
const LAST_WORDS_MS = 1_000;
const LAST_WORDS_POLL_MS = 20;

/** What all connections from one address may ask for in a turn of the event loop: 128 short requests. */
const TURN_OF_ADDRESS = 128 * LEAST_COST;

/** One connection of a client. */
export interface Connection {
  readonly socket: Socket;
  /** What its address may cost in a turn. */
  readonly quota: TurnQuota;
  /** Requests that wait for the answers to those ahead of them. */
  waiting: number;
  /** Not read until what it has asked for is answered. */
  isHeld: boolean;
}

interface Address {
  readonly quota: TurnQuota;
  connections: number;
}

/** The event of a server that comes with a connection which requests can arrive on. */
export function connectionEvent(isSecure: boolean): 'secureConnection' | 'connection' {
  return isSecure ? 'secureConnection' : 'connection';
}

/** All of one server. */
export class OpenSockets {
  readonly #open = new Map<Socket, Connection>();
  readonly #addresses = new Map<string, Address>();

  /** @param isSecure whether a connection is one only after its TLS handshake */
  constructor(server: Pick<Server, 'on'>, isSecure: boolean) {
    server.on(connectionEvent(isSecure), (socket: Socket) => this.#add(socket));
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** Whether anything is on its way to a client. */
  get hasUnsent(): boolean {
    for (const { writableLength } of this.#open.keys()) if (writableLength > 0) return true;
    return false;
  }

  /** Gives clients a moment to read what they were sent last. */
  async sent(): Promise<void> {
    const endMs = monotonicMs() + LAST_WORDS_MS;
    while (this.hasUnsent && monotonicMs() < endMs) await delay(LAST_WORDS_POLL_MS);
  }

  /** Ends those that came with a client certificate, so that it is shown again. */
  endCertified(): void {
    for (const socket of this.#open.keys()) {
      if (socket instanceof TLSSocket && socket.authorized) socket.destroy();
    }
  }

  /** Ends all of them, those too that are no longer the HTTP server's. */
  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  // One that was held comes again as a new one of the HTTP server.
  #add(socket: Socket): void {
    if (this.#open.has(socket) || socket.destroyed) return;
    const name = socket.remoteAddress ?? '';
    const address = this.#addresses.get(name) ?? newAddress();
    address.connections++;
    this.#addresses.set(name, address);
    this.#open.set(socket, { socket, quota: address.quota, waiting: 0, isHeld: false });
    // Errors close it, whoever else listens: while nobody does, they must not be uncaught.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#open.delete(socket);
      address.connections--;
      if (address.connections === 0) this.#addresses.delete(name);
    });
  }
}

function newAddress(): Address {
  return { quota: new TurnQuota(TURN_OF_ADDRESS), connections: 0 };
}
