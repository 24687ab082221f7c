// What of a server's messages is on its way to many clients: so many are told in one turn of the event
// loop, in the order in which the server wrote, and the server is not read on before all are told.
import { nextTurn } from '../base/turns.ts';
import type { Subscriber } from './subscriptions.ts';

/** Clients that are told something in one turn. */
const CLIENTS_PER_TURN = 256;
/** Messages that may wait. One message of a server may be a batch of many. */
const MAX_PENDING = 1_000;

/** One message, and who is still to be told. */
interface Delivery {
  readonly listeners: Iterator<Subscriber>;
  readonly message: Buffer;
  readonly kind: string | undefined;
}

/** Tells clients. */
export class Deliveries {
  readonly #pending: Delivery[] = [];
  #deliveredInTurn = 0;
  #isTurnNoted = false;
  /** Clients that were told something, each time. */
  delivered = 0;

  /** Whether somebody is still to be told of something. */
  get isBehind(): boolean {
    return this.#pending.length > 0;
  }

  /**
   * @param listeners those that leave before it is their turn are told no more
   * @param kind as `Downstream.notify` takes it
   */
  tell(listeners: Iterable<Subscriber>, message: Buffer, kind: string | undefined): void {
    const delivery = { listeners: listeners[Symbol.iterator](), message, kind };
    // Where too much waits all of it is told at once: each client still gets it in order.
    if (this.#pending.length >= MAX_PENDING) this.#work(Number.POSITIVE_INFINITY);
    if (this.isBehind || !this.#goOn(delivery, CLIENTS_PER_TURN)) this.#wait(delivery);
    this.#noteTurn();
  }

  /** What waits is told to nobody any more. */
  clear(): void {
    this.#pending.length = 0;
  }

  #wait(delivery: Delivery): void {
    // It may be a view of a whole chunk of what the server wrote.
    this.#pending.push({ ...delivery, message: Buffer.from(delivery.message) });
  }

  /** @returns false when this turn is over before all are told */
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

  /** @param most that are told in this turn */
  #work(most: number): void {
    for (;;) {
      const [first] = this.#pending;
      if (first === undefined || !this.#goOn(first, most)) return;
      this.#pending.shift();
    }
  }
}
