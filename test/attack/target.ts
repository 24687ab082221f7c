// What an attack knows of the gateway that it attacks, and when it has to begin and to end.
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Where the gateway listens and with which keys it can be asked; sent to the attacking processes. */
export interface Facts {
  readonly port: number;
  readonly keys: Readonly<Record<KeyName, string>>;
  /** Counts the processes of one attack, from 0. */
  readonly worker: number;
}
export type KeyName = 'victim' | 'low' | 'attacker';

/** The endpoint of the server that attackers share with others. */
export const SHARED = '/servers/shared';

/** The gateway under attack. */
export class Target {
  readonly port: number;
  readonly worker: number;
  /** Aborts when the time is over. */
  readonly over: AbortSignal;
  readonly #keys: Facts['keys'];
  readonly #begin: () => Promise<void>;
  readonly #sockets = new Set<Socket>();

  /** @param begin tells the harness that all is prepared and waits until it measures */
  constructor({ port, keys, worker }: Facts, over: AbortSignal, begin: () => Promise<void>) {
    this.port = port;
    this.worker = worker;
    this.over = over;
    this.#keys = keys;
    this.#begin = begin;
    over.addEventListener('abort', () => {
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  get isOver(): boolean {
    return this.over.aborted;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Header lines that every request of this principal has; without a key those of anybody. */
  headers(key?: KeyName): string {
    const proof = key === undefined ? '' : `Authorization: Bearer ${this.#keys[key]}\r\n`;
    return `Host: 127.0.0.1:${this.port}\r\n${proof}`;
  }

  /** Resolves when the attack may begin. */
  begin(): Promise<void> {
    return this.#begin();
  }

  /** Waits, but no longer than the attack lasts. */
  async wait(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.over }).catch(() => undefined);
  }

  /**
   * A connection, closed when the attack is over. Errors close it, and nothing else: an attack goes on.
   * Nothing is read from it before `resume`.
   * @throws Error when it is refused or closed at once
   */
  async connect(): Promise<Socket> {
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    this.#sockets.add(socket);
    socket.setMaxListeners(0);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    await new Promise((resolve) => {
      socket.once('connect', resolve);
      socket.once('close', resolve);
    });
    if (this.isOver) socket.destroy();
    if (socket.destroyed) throw new Error('closed');
    return socket;
  }

  /** Does something again and again, from several sides at once, until the attack is over. */
  async repeat(lanes: number, act: (lane: number) => Promise<unknown>): Promise<number> {
    let rounds = 0;
    const lane = async (_: unknown, number: number): Promise<void> => {
      while (!this.isOver) {
        const begin = performance.now();
        // One that is refused is one that was tried.
        await act(number).catch(() => undefined);
        rounds += 1;
        // Whoever is refused at once tries again, but not in a loop that starves its own timers.
        if (performance.now() - begin < 1) await this.wait(1);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return rounds;
  }
}
