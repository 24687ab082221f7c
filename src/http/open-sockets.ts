// The open connections of a listener: how many there may be, whose they are, which requests wait on them,
// what was not sent yet, and which have a client certificate. When no place is free, the connection that was
// unused for longest is closed for a new one.
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

/** How long clients may take to read the last output. */
const LINGER_MS = 1_000;
const LINGER_POLL_MS = 20;

/** A connection that was used so recently is probably used again soon. */
const IN_USE_MS = 1_000;
/** How many connections are examined, at most, to find one to close. */
const MAX_LOOKS = 256;

/** Which limit is reached: of all connections, of one address, or of connections without a request. */
export type Scarcity = 'all' | 'address' | 'unused';

export interface SocketLimits {
  /** Of all addresses. */
  readonly connections: number;
  /** Of one address; 0: no limit. */
  readonly perAddress: number;
  /** Of all addresses, without a request so far. */
  readonly unused: number;
  /** Whether an address stands for many clients, like a proxy's. */
  isShared(address: string): boolean;
  /** Called when a new connection is refused, or an idle one is closed for it. */
  scarce(whose: Scarcity, what: 'refused' | 'closed_idle'): void;
}

/** What is held of a head that is not complete. */
export interface UnfinishedHead {
  readonly held: HeldAmount;
  /** For whom it is held. */
  client: HeldClient;
  bytes: number;
}

/** One connection of a client. */
export interface Connection {
  /** The socket on which requests arrive. */
  readonly socket: Socket;
  /** What its client may cost in a turn. Changes with the client of its latest request. */
  quota: TurnQuota;
  /** What its address may cost in a turn. */
  readonly addressQuota: TurnQuota;
  /** Whose bytes are held for it: the principal of its latest request, if known. */
  client: HeldClient;
  /** The owner of held bytes while only the address is known. */
  readonly addressClient: HeldClient;
  /** Requests that wait for the answers to earlier ones. */
  waiting: number;
  /** Requests whose reading was already counted. */
  paid: number;
  /** Not read until its requests are answered. */
  isHeld: boolean;
  /** Detached from the HTTP server, for now. */
  isDetached: boolean;
  /** Whether the body of its latest request has a transfer coding. */
  isInChunks: boolean;
  /** Parts of a body in the last read. */
  parts: number;
  /** Of a head that is not complete; undefined until the first one. */
  head: UnfinishedHead | undefined;
  /** Whether a head has come whole with what was read last. */
  hasReadHead: boolean;
  /** Whether what was read last ended within a body. */
  isInBody: boolean;
  /** Whether its body is read on in a later turn. */
  isBodyPaused: boolean;
  /** Called for what is read, after the connection was given back to the HTTP server. */
  onData: ((chunk: Buffer) => void) | undefined;
  /** Called when its client has ended its side, while the HTTP server reads the connection. */
  onEnd: (() => void) | undefined;
  /** Not read until then, because its client sent too many requests. Monotonic milliseconds. */
  restsUntilMs: number;
  /** Taken over by another protocol. */
  isUpgraded: boolean;
  /** The time of its latest request, in monotonic milliseconds. */
  readonly usedMs: number | undefined;
}

class OpenConnection implements Connection {
  readonly openedMs = monotonicMs();
  readonly address: Address;
  /** The same text for both sockets of a TLS connection. */
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
  isInBody = false;
  isBodyPaused = false;
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

/** The connections of one server. */
export class OpenSockets {
  readonly #limits: SocketLimits;
  readonly #newQuota: () => TurnQuota;
  readonly #open = new Set<OpenConnection>();
  readonly #bySocket = new Map<Socket, OpenConnection>();
  readonly #addresses = new Map<string, Address>();
  /** Connections before the end of their TLS handshake, by peer. */
  readonly #unproven = new Map<string, OpenConnection>();
  /** Connections without a request so far, oldest first. */
  readonly #unused = new Set<OpenConnection>();

  /**
   * @param isSecure whether requests arrive only after a TLS handshake
   * @param newQuota makes the quota of an address
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

  /** Notes that a request arrived on a connection. */
  noteUse(connection: Connection): void {
    const used = connection as OpenConnection;
    if (used.usedMs === undefined) this.#unused.delete(used);
    used.usedMs = monotonicMs();
  }

  /** Whether any output waits for a client. */
  get hasUnsent(): boolean {
    for (const { socket } of this.#open) if (socket.writableLength > 0) return true;
    return false;
  }

  /** Waits a moment, so that clients can read the last output. */
  async sent(): Promise<void> {
    const endMs = monotonicMs() + LINGER_MS;
    while (this.hasUnsent && monotonicMs() < endMs) await delay(LINGER_POLL_MS);
  }

  /** Closes connections with a client certificate, so that clients present it again. */
  endCertified(): void {
    for (const { socket } of this.#open) {
      if (socket instanceof TLSSocket && socket.authorized) socket.destroy();
    }
  }

  /** Closes all connections, including upgraded ones. */
  destroyAll(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  #onConnection(socket: Socket, isSecure: boolean): void {
    // A connection that was given back appears again as a new one.
    if (this.#bySocket.has(socket) || socket.destroyed) return;
    // An error closes the socket. Without a listener it would be an uncaught exception.
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

  /** Closing the oldest of so many connections without a request costs nobody anything. */
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

  /** The limit that is reached, if no place can be made. */
  #limitReached(name: string, address: Address): Scarcity | undefined {
    const { connections, perAddress, isShared } = this.#limits;
    const isOne = perAddress > 0 && !isLoopbackHost(name) && !isShared(name);
    const own = address.connections;
    if (isOne && own.size >= perAddress && !this.#closeIdle(own, 'address')) return 'address';
    if (this.#open.size >= connections && !this.#closeIdle(this.#open, 'all')) return 'all';
    return undefined;
  }

  /** Closes the connection that was unused for longest, among those examined. */
  #closeIdle(among: Set<OpenConnection>, whose: Scarcity): boolean {
    const nowMs = monotonicMs();
    let looks = Math.min(among.size, MAX_LOOKS);
    let oldest: OpenConnection | undefined;
    for (const connection of among) {
      if (looks-- === 0) break;
      // Others are examined next time.
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
