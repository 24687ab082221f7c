// The connections that are open at a listener: how many there may be, whose they are, what waits on
// them, what is on its way to their clients, and which of them came with a certificate. Where places
// get scarce, the one that was not used for longest is closed for a new one.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { delay, monotonicMs } from '../base/clock.ts';
import type { HeldAmount, HeldClient } from '../base/held-bytes.ts';
import { isLoopbackHost } from '../base/loopback.ts';
import type { TurnQuota } from '../base/turns.ts';
import { addressQuota } from './client-turns.ts';
import { responseOn } from './http-socket.ts';
import { networkOf } from './network.ts';

/** How long clients may take to read what they were sent last. */
const LINGER_MS = 1_000;
const LINGER_POLL_MS = 20;

/** Whoever was answered so recently is about to ask again. */
const IN_USE_MS = 1_000;
/** Connections that are looked at, at most, to find one that can be closed. */
const MAX_LOOKS = 256;

/** Whose places are used up: of all connections, of those of an address, of those without a request. */
export type Scarcity = 'all' | 'address' | 'unused';

export interface SocketLimits {
  /** Open at once. */
  readonly connections: number;
  /** Of one address; 0 is no limit of its own. */
  readonly perAddress: number;
  /** On which no request has come yet, of all addresses. */
  readonly unused: number;
  /** Whether an address stands for many clients: a proxy's. */
  isShared(address: string): boolean;
  /** Told of a connection that is closed at once, or of an idle one that is closed for it. */
  scarce(whose: Scarcity, what: 'refused' | 'closed_idle'): void;
}

/** One connection of a client. */
export interface Connection {
  /** What requests arrive on. */
  readonly socket: Socket;
  /** What its client may cost in a turn: as far as is known by its latest request. */
  quota: TurnQuota;
  /** What its address may cost in a turn. */
  readonly addressQuota: TurnQuota;
  /** Whose bytes are held for it: its principal's, as far as is known by its latest request. */
  client: HeldClient;
  /** The same of somebody of whom only the address is known. */
  readonly addressClient: HeldClient;
  /** Requests that wait for the answers to those ahead of them. */
  waiting: number;
  /** Requests whose reading was counted in advance. */
  paid: number;
  /** Not read until what it has asked for is answered. */
  isHeld: boolean;
  /** The HTTP server has let go of it, for now. */
  isDetached: boolean;
  /** Whether the body of its latest request has a transfer coding. */
  isInChunks: boolean;
  /** Parts of a body that came with what was read last. */
  parts: number;
  /** A head that has not come whole, and what it takes. */
  head: { readonly held: HeldAmount; bytes: number } | undefined;
  /** Whether a head has come whole with what was read last. */
  hasReadHead: boolean;
  /** Called with what is read of it, since the HTTP server was given it back. */
  onData: ((chunk: Buffer) => void) | undefined;
  /** Called when its client sends no more, while it is the HTTP server's. */
  onEnd: (() => void) | undefined;
  /** Until then it is not read, since too much was asked for on it. */
  restsUntilMs: number;
  /** No longer the HTTP server's. */
  isUpgraded: boolean;
  /** When its latest request came. */
  readonly usedMs: number | undefined;
}

class OpenConnection implements Connection {
  readonly openedMs = monotonicMs();
  readonly address: Address;
  /** The same for both sockets of a connection with TLS. */
  readonly peer: string;
  socket: Socket;
  waiting = 0;
  paid = 0;
  isHeld = false;
  isDetached = false;
  isInChunks = false;
  parts = 0;
  head: Connection['head'];
  hasReadHead = false;
  onData: ((chunk: Buffer) => void) | undefined;
  onEnd: (() => void) | undefined;
  restsUntilMs = 0;
  isUpgraded = false;
  usedMs: number | undefined;
  quota: TurnQuota;
  client: HeldClient;

  constructor(socket: Socket, address: Address) {
    this.socket = socket;
    this.address = address;
    this.quota = address.quota;
    this.client = address.client;
    this.peer = peerOf(socket);
  }

  get addressQuota(): TurnQuota {
    return this.address.quota;
  }

  get addressClient(): HeldClient {
    return this.address.client;
  }

  isIdle(nowMs: number): boolean {
    if (this.isUpgraded || responseOn(this.socket) !== undefined) return false;
    return this.usedMs === undefined || nowMs - this.usedMs >= IN_USE_MS;
  }
}

class Address {
  readonly name: string;
  readonly quota: TurnQuota;
  readonly client: HeldClient;
  readonly connections = new Set<OpenConnection>();

  constructor(name: string, quota: TurnQuota) {
    this.name = name;
    this.quota = quota;
    this.client = { key: `address ${name}`, kind: 'address' };
  }
}

/** All of one server. */
export class OpenSockets {
  readonly #limits: SocketLimits;
  readonly #newQuota: () => TurnQuota;
  readonly #open = new Set<OpenConnection>();
  readonly #bySocket = new Map<Socket, OpenConnection>();
  readonly #addresses = new Map<string, Address>();
  /** Before their TLS handshake is done, by peer. */
  readonly #unproven = new Map<string, OpenConnection>();
  /** On which no request has come yet, from the oldest on. */
  readonly #unused = new Set<OpenConnection>();

  /**
   * @param isSecure whether requests can arrive only after a TLS handshake
   * @param newQuota what an address may cost in a turn
   */
  constructor(
    server: Pick<Server, 'on'>,
    isSecure: boolean,
    limits: SocketLimits,
    newQuota: () => TurnQuota = addressQuota,
  ) {
    this.#limits = limits;
    this.#newQuota = newQuota;
    server.on('connection', (socket: Socket) => this.#onConnection(socket, isSecure));
    if (isSecure) server.on('secureConnection', (socket: Socket) => this.#onSecure(socket));
  }

  get size(): number {
    return this.#open.size;
  }

  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Notes that a request has come on a connection. */
  noteUse(connection: Connection): void {
    const used = connection as OpenConnection;
    if (used.usedMs === undefined) this.#unused.delete(used);
    used.usedMs = monotonicMs();
  }

  /** Whether anything is on its way to a client. */
  get hasUnsent(): boolean {
    for (const { socket } of this.#open) if (socket.writableLength > 0) return true;
    return false;
  }

  /** Gives clients a moment to read what they were sent last. */
  async sent(): Promise<void> {
    const endMs = monotonicMs() + LINGER_MS;
    while (this.hasUnsent && monotonicMs() < endMs) await delay(LINGER_POLL_MS);
  }

  /** Ends those that came with a client certificate, so that it is shown again. */
  endCertified(): void {
    for (const { socket } of this.#open) {
      if (socket instanceof TLSSocket && socket.authorized) socket.destroy();
    }
  }

  /** Ends all of them, those too that are no longer the HTTP server's. */
  destroyAll(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  #onConnection(socket: Socket, isSecure: boolean): void {
    // One that was held comes again as a new one of the HTTP server.
    if (this.#bySocket.has(socket) || socket.destroyed) return;
    // Errors close it, whoever else listens: while nobody does, they must not be uncaught.
    socket.on('error', () => undefined);
    const name = networkOf(socket.remoteAddress ?? '');
    const address = this.#addresses.get(name) ?? new Address(name, this.#newQuota());
    const reason = this.#limitReached(socket.remoteAddress ?? '', address);
    if (reason !== undefined) {
      this.#limits.scarce(reason, 'refused');
      socket.destroy();
      return;
    }
    const connection = new OpenConnection(socket, address);
    this.#addresses.set(name, address);
    address.connections.add(connection);
    this.#open.add(connection);
    this.#unused.add(connection);
    this.#bySocket.set(socket, connection);
    if (isSecure) this.#unproven.set(connection.peer, connection);
    socket.once('close', () => this.#remove(connection));
    this.#closeUnused();
  }

  /** Nobody loses anything when the oldest of so many is closed, on which nothing was asked for. */
  #closeUnused(): void {
    if (this.#unused.size <= this.#limits.unused) return;
    for (const oldest of this.#unused) {
      this.#limits.scarce('unused', 'closed_idle');
      this.#remove(oldest);
      oldest.socket.destroy();
      return;
    }
  }

  #onSecure(socket: Socket): void {
    const connection = this.#unproven.get(peerOf(socket));
    if (connection === undefined) return;
    this.#unproven.delete(connection.peer);
    this.#bySocket.delete(connection.socket);
    this.#bySocket.set(socket, connection);
    connection.socket = socket;
    socket.on('error', () => undefined);
  }

  #remove(connection: OpenConnection): void {
    const { address, socket, peer } = connection;
    if (!this.#open.delete(connection)) return;
    this.#unused.delete(connection);
    this.#bySocket.delete(socket);
    if (this.#unproven.get(peer) === connection) this.#unproven.delete(peer);
    address.connections.delete(connection);
    if (address.connections.size === 0) this.#addresses.delete(address.name);
  }

  /** Why there is no room for one more, nor can any be made. */
  #limitReached(name: string, address: Address): Scarcity | undefined {
    const { connections, perAddress, isShared } = this.#limits;
    const isOne = perAddress > 0 && !isLoopbackHost(name) && !isShared(name);
    const own = address.connections;
    if (isOne && own.size >= perAddress && !this.#closeIdle(own, 'address')) return 'address';
    if (this.#open.size >= connections && !this.#closeIdle(this.#open, 'all')) return 'all';
    return undefined;
  }

  /** Closes the one that was not used for longest, of some that are looked at. */
  #closeIdle(among: Set<OpenConnection>, whose: Scarcity): boolean {
    const nowMs = monotonicMs();
    let looks = Math.min(among.size, MAX_LOOKS);
    let oldest: OpenConnection | undefined;
    for (const connection of among) {
      if (looks-- === 0) break;
      // Others are looked at the next time.
      among.delete(connection);
      among.add(connection);
      if (!connection.isIdle(nowMs)) continue;
      if (oldest === undefined || lastUseOf(connection) < lastUseOf(oldest)) oldest = connection;
    }
    if (oldest === undefined) return false;
    this.#limits.scarce(whose, 'closed_idle');
    this.#remove(oldest);
    oldest.socket.destroy();
    return true;
  }
}

function lastUseOf({ usedMs, openedMs }: OpenConnection): number {
  return usedMs ?? openedMs;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
