// The one listen stream that a modern server has open for all clients: replaced when what is wanted
// changes, opened again when the server ends it (protocol.md 4.7, 5.6).
import { after, type Timer } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, type JsonObject, parseParams } from '../jsonrpc/parse.ts';
import { ACKNOWLEDGED, LISTEN } from '../mcp/modern-methods.ts';
import { subscriptionOf, withoutSubscription } from '../mcp/subscription.ts';
import type { Mux } from '../mux/mux.ts';

const ACKNOWLEDGE_MS = 10_000;
const REOPEN_MS = 1_000;

interface Waiting {
  readonly id: number;
  readonly resolve: (agreed: JsonObject | undefined) => void;
}

/** Listens at one connection. */
export class UpstreamListen {
  readonly #mux: Mux;
  #currentId: number | undefined;
  #waiting: Waiting | undefined;
  #reopen: Timer | undefined;

  constructor(mux: Mux) {
    this.#mux = mux;
  }

  /**
   * Opens a stream and ends the one before, once the new one is acknowledged: nothing is missed.
   * @param params of the request, envelope included
   * @returns what the server agreed to; undefined when it refused or did not answer
   */
  async open(params: JsonObject): Promise<JsonObject | undefined> {
    this.#reopen?.cancel();
    const previousId = this.#currentId;
    const { promise, resolve } = Promise.withResolvers<JsonObject | undefined>();
    const id = this.#mux.openStream(LISTEN, params, () => this.#ended(id, params));
    const timer = after(ACKNOWLEDGE_MS, () => resolve(undefined));
    this.#waiting?.resolve(undefined);
    this.#waiting = { id, resolve };
    const agreed = await promise;
    timer.cancel();
    if (agreed === undefined) return undefined;
    this.#currentId = id;
    if (previousId !== undefined) this.#mux.closeStream(previousId);
    return agreed;
  }

  /**
   * Takes a notification that came on a listen stream.
   * @returns what clients are to be told; undefined when it is nothing for them
   */
  receive(notification: Frame): Frame | undefined {
    const id = subscriptionOf(notification);
    if (notification.method === ACKNOWLEDGED) {
      const { notifications } = parseParams(notification);
      if (this.#waiting?.id === id) {
        this.#waiting?.resolve(isObject(notifications) ? notifications : {});
        this.#waiting = undefined;
      }
      return undefined;
    }
    if (id === undefined) return notification;
    // While two streams are open only the newer one counts, so that nothing is told twice.
    return id === this.#currentId ? withoutSubscription(notification) : undefined;
  }

  close(): void {
    this.#reopen?.cancel();
    this.#waiting?.resolve(undefined);
  }

  #ended(id: number, params: JsonObject): void {
    if (this.#waiting?.id === id) {
      this.#waiting.resolve(undefined);
      this.#waiting = undefined;
    } else if (this.#currentId === id) {
      this.#currentId = undefined;
      this.#reopen = after(REOPEN_MS, () => void this.open(params));
    }
  }
}
