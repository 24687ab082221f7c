// Messages of a server on their way to many clients. Only some clients get them in one turn of the event
// loop, in the order in which the server wrote them. The server is not read until all have them.
import { nextTurn } from '../base/turns.ts';
import type { Subscriber } from './subscriptions.ts';

/** Clients that get a message in one turn. */
const CLIENTS_PER_TURN = 256;
/** Messages that may wait. One message of a server may be a batch of many. */
const MAX_PENDING = 1_000;

/** One message, and the clients that have not got it yet. */
interface Delivery {
  readonly listeners: Iterator<Subscriber>;
  readonly message: Buffer;
  readonly kind: string | undefined;
}

/** Delivers messages to clients. */
export class Deliveries {
  readonly #pending: Delivery[] = [];
  #deliveredInTurn = 0;
  #isTurnNoted = false;
  /** The number of deliveries so far. */
  delivered = 0;

  /** Whether a message has not reached all its clients. */
  get isBehind(): boolean {
    return this.#pending.length > 0;
  }

  /**
   * @param listeners those that leave before it is their turn get nothing
   * @param kind see `Downstream.notify`
   */
  tell(listeners: Iterable<Subscriber>, message: Buffer, kind: string | undefined): void {
    const delivery = { listeners: listeners[Symbol.iterator](), message, kind };
    // If too much waits, all of it is delivered at once. Each client still gets it in order.
    if (this.#pending.length >= MAX_PENDING) this.#work(Number.POSITIVE_INFINITY);
    if (this.isBehind || !this.#goOn(delivery, CLIENTS_PER_TURN)) this.#wait(delivery);
    this.#noteTurn();
  }

  /** Drops all waiting messages. */
  clear(): void {
    this.#pending.length = 0;
  }

  #wait(delivery: Delivery): void {
    // Copied: it may be a view of a whole chunk of the server's output.
    this.#pending.push({ ...delivery, message: Buffer.from(delivery.message) });
  }

  /** @returns false if this turn ended before all have it */
  #goOn({ listeners, message, kind }: Delivery, most: number): boolean {
    while (this.#deliveredInTurn < most) {
      const next = listeners.next();
      if (next.done === true) return true;
      this.#deliveredInTurn++;
      this.delivered++;
      next.value.client.notify(message, kind);
    }
    return false;
  }

  #noteTurn(): void {
    if (this.#isTurnNoted || this.#deliveredInTurn === 0) return;
    this.#isTurnNoted = true;
    void this.#countTurns();
  }

  async #countTurns(): Promise<void> {
    do {
      await nextTurn();
      this.#deliveredInTurn = 0;
      this.#work(CLIENTS_PER_TURN);
    } while (this.isBehind);
    this.#isTurnNoted = false;
  }

  /** @param most clients in this turn */
  #work(most: number): void {
    for (;;) {
      const [first] = this.#pending;
      if (first === undefined || !this.#goOn(first, most)) return;
      this.#pending.shift();
    }
  }
}
