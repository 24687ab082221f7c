// The one listen stream that a modern server has open for all clients. It is replaced when the subscriptions
// change, and opened again when the server ends it (docs/protocol.md#changes-and-subscriptions,
// #listen-streams).
import { backoffMs } from '../base/backoff.ts';
import { after, type Timer } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, type JsonObject, parseParams } from '../jsonrpc/parse.ts';
import { ACKNOWLEDGED, LISTEN } from '../mcp/modern-methods.ts';
import { subscriptionOf, withoutSubscription } from '../mcp/subscription.ts';
import type { Mux } from '../mux/mux.ts';

const ACKNOWLEDGE_MS = 10_000;
const REOPEN = { firstMs: 1_000, capMs: 30_000 };

/** A stream that is not acknowledged yet, and everyone who waits for it. */
interface WaitingListen {
  readonly id: number;
  readonly limit: Timer;
  readonly resolves: ((agreed: JsonObject | undefined) => void)[];
}

/** Listens on one connection. */
export class UpstreamListen {
  readonly #mux: Mux;
  #currentId: number | undefined;
  #waiting: WaitingListen | undefined;
  #reopen: Timer | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(mux: Mux) {
    this.#mux = mux;
  }

  /**
   * Opens a stream, and ends the previous one when the new one is acknowledged, so that nothing is missed. If
   * a stream is replaced before it is acknowledged, those who wait for it get the answer to the newer one.
   * @param params of the request, with the envelope
   * @returns what the server granted; undefined if it refused or did not answer
   */
  open(params: JsonObject): Promise<JsonObject | undefined> {
    this.#reopen?.cancel();
    if (this.#isClosed) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<JsonObject | undefined>();
    const superseded = this.#waiting;
    const id = this.#mux.openStream(LISTEN, params, () => this.#ended(id, params));
    const limit = after(ACKNOWLEDGE_MS, () => this.#settle(id, undefined));
    this.#waiting = { id, limit, resolves: [...(superseded?.resolves ?? []), resolve] };
    if (superseded !== undefined) {
      superseded.limit.cancel();
      this.#mux.closeStream(superseded.id);
    }
    return promise;
  }

  /**
   * Takes a notification that came on a listen stream.
   * @returns the notification for clients; undefined if there is none
   */
  receive(notification: Frame): Frame | undefined {
    const id = subscriptionOf(notification);
    if (notification.method === ACKNOWLEDGED) {
      const { notifications } = parseParams(notification);
      if (id !== undefined) this.#settle(id, isObject(notifications) ? notifications : {});
      return undefined;
    }
    if (id === undefined) return notification;
    // While two streams are open, only the newer one is used, so that nothing is sent twice.
    return id === this.#currentId ? withoutSubscription(notification) : undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#reopen?.cancel();
    if (this.#waiting !== undefined) this.#settle(this.#waiting.id, undefined);
  }

  // At once, not in a promise: what follows in the same chunk belongs to the new stream.
  #settle(id: number, agreed: JsonObject | undefined): void {
    const waiting = this.#waiting;
    if (waiting?.id !== id) return;
    this.#waiting = undefined;
    waiting.limit.cancel();
    const overId = agreed === undefined ? id : this.#currentId;
    if (agreed !== undefined) {
      this.#currentId = id;
      this.#failures = 0;
    }
    if (overId !== undefined) this.#mux.closeStream(overId);
    for (const resolve of waiting.resolves) resolve(agreed);
  }

  #ended(id: number, params: JsonObject): void {
    this.#settle(id, undefined);
    if (this.#currentId !== id) return;
    this.#currentId = undefined;
    this.#openAgain(params);
  }

  #openAgain(params: JsonObject): void {
    if (this.#isClosed || this.#waiting !== undefined) return;
    this.#reopen = after(backoffMs(++this.#failures, REOPEN), () => {
      void this.open(params).then((agreed) => {
        if (agreed === undefined && this.#currentId === undefined) this.#openAgain(params);
      });
    });
  }
}
