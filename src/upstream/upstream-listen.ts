// The one listen stream that a modern server has open for all clients: replaced when what is wanted
// changes, opened again when the server ends it (docs/protocol.md#changes-and-subscriptions,
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

/** A stream that is not acknowledged yet, and all who wait for it. */
interface WaitingListen {
  readonly id: number;
  readonly limit: Timer;
  readonly resolves: ((agreed: JsonObject | undefined) => void)[];
}

/** Listens at one connection. */
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
   * Opens a stream and ends the one before, once the new one is acknowledged: nothing is missed.
   * Whoever waits for a stream that is replaced before that gets the answer to the newer one, whose
   * subscriptions are the newer ones.
   * @param params of the request, envelope included
   * @returns what the server agreed to; undefined when it refused or did not answer
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
   * @returns what clients are to be told; undefined when it is nothing for them
   */
  receive(notification: Frame): Frame | undefined {
    const id = subscriptionOf(notification);
    if (notification.method === ACKNOWLEDGED) {
      const { notifications } = parseParams(notification);
      if (id !== undefined) this.#settle(id, isObject(notifications) ? notifications : {});
      return undefined;
    }
    if (id === undefined) return notification;
    // While two streams are open only the newer one counts, so that nothing is told twice.
    return id === this.#currentId ? withoutSubscription(notification) : undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#reopen?.cancel();
    if (this.#waiting !== undefined) this.#settle(this.#waiting.id, undefined);
  }

  // At once, not when a promise is looked at: what comes in the same chunk belongs to the new one.
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
