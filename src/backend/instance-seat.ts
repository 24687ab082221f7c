// A client's place at an instance: sends its calls there and keeps what the server is told once for
// all clients (log level, subscriptions) in step with what each of them wants.

import { GatewayError } from '../base/errors.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseSpan, parseString } from '../jsonrpc/parse.ts';
import { severityOf } from '../mcp/log-levels.ts';
import { ROOTS_CHANGED, SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange } from '../ports/exchange.ts';
import type { Seat, ServerIdentity } from '../ports/seat.ts';
import type { Listener } from './fan-out.ts';
import type { Instance } from './instance.ts';

const EMPTY_RESULT = Buffer.from('{}');

/** What a seat needs of the backend that gave it. */
export interface SeatContext {
  readonly server: string;
  readonly isShared: boolean;
  /** Where a call that can't go to its own instance now may go instead. */
  alternative(exchange: Exchange, own: Instance): Instance;
  left(seat: InstanceSeat): void;
}

/** One client at one instance. */
export class InstanceSeat implements Seat, Listener {
  readonly client: Downstream;
  readonly instance: Instance;
  severity: number | undefined = undefined;
  readonly #context: SeatContext;
  #hasLeft = false;

  constructor(client: Downstream, instance: Instance, context: SeatContext) {
    this.client = client;
    this.instance = instance;
    this.#context = context;
    instance.fanOut.join(this);
  }

  get identity(): ServerIdentity | undefined {
    return this.instance.identity;
  }

  dispatch(exchange: Exchange): void {
    this.#context.alternative(exchange, this.instance).dispatch(exchange);
  }

  notify(notification: Frame): void {
    // Roots belong to one client: a shared server has the static ones, or none.
    if (notification.method === ROOTS_CHANGED && this.#context.isShared) return;
    this.instance.notify(notification.bytes);
  }

  setLevel(exchange: Exchange): void {
    const { frame } = exchange;
    const level = parseString(frame.bytes, frame.levelStart, frame.levelEnd);
    const severity = severityOf(level);
    if (severity === undefined) {
      exchange.refuse({ code: INVALID_PARAMS, message: 'Invalid params: unknown log level.' });
    } else if (this.identity?.capabilities['logging'] === undefined) {
      exchange.refuse({ code: METHOD_NOT_FOUND, message: 'The server does not offer logging.' });
    } else {
      const before = this.instance.fanOut.level;
      this.severity = severity;
      void this.#settleLevel(exchange, before);
    }
  }

  async #settleLevel(exchange: Exchange, before: string | undefined): Promise<void> {
    const { level } = this.instance.fanOut;
    if (level === before || level === undefined) {
      exchange.answer(EMPTY_RESULT);
      return;
    }
    await this.#ask(exchange, SET_LEVEL, { level });
  }

  subscribe(exchange: Exchange): void {
    const uri = this.#uriOf(exchange);
    if (uri === undefined) return;
    const { fanOut } = this.instance;
    if (fanOut.isSubscribed(uri)) {
      fanOut.subscribe(this, uri);
      exchange.answer(EMPTY_RESULT);
      return;
    }
    fanOut.subscribe(this, uri);
    void this.#ask(exchange, SUBSCRIBE, { uri }).then((isAgreed) => {
      if (!isAgreed) fanOut.unsubscribe(this, uri);
    });
  }

  unsubscribe(exchange: Exchange): void {
    const uri = this.#uriOf(exchange);
    if (uri === undefined) return;
    if (this.instance.fanOut.unsubscribe(this, uri)) {
      void this.#ask(exchange, UNSUBSCRIBE, { uri });
    } else {
      exchange.answer(EMPTY_RESULT);
    }
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    const { fanOut } = this.instance;
    const before = fanOut.level;
    const orphans = fanOut.leave(this);
    for (const uri of orphans) void this.instance.request(UNSUBSCRIBE, { uri });
    const { level } = fanOut;
    if (level !== undefined && level !== before) void this.instance.request(SET_LEVEL, { level });
    this.#context.left(this);
  }

  /** Asks the server on behalf of everybody and answers the client with what comes back. */
  async #ask(exchange: Exchange, method: string, params: unknown): Promise<boolean> {
    await this.instance.ready().catch(() => undefined);
    const answer = await this.instance.request(method, params);
    if (answer === undefined) {
      const { server } = this.#context;
      const text = `Server "${server}" did not answer ${method}.`;
      exchange.fail(new GatewayError('server_timeout', text, { outcome: 'unknown', server }));
      return false;
    }
    if (answer.resultStart >= 0) {
      exchange.answer(EMPTY_RESULT);
      return true;
    }
    exchange.refuse(errorOf(answer));
    return false;
  }

  #uriOf(exchange: Exchange): string | undefined {
    const { bytes, uriStart, uriEnd } = exchange.frame;
    const uri = parseString(bytes, uriStart, uriEnd);
    if (uri === undefined) {
      exchange.refuse({ code: INVALID_PARAMS, message: 'Invalid params: uri must be a string.' });
    } else if (!this.#canSubscribe()) {
      exchange.refuse({
        code: METHOD_NOT_FOUND,
        message: 'The server does not offer subscriptions.',
      });
      return undefined;
    }
    return uri;
  }

  #canSubscribe(): boolean {
    const resources = this.identity?.capabilities['resources'];
    return isObject(resources) && resources['subscribe'] === true;
  }
}

function errorOf(answer: Frame): WireError {
  const error = parseSpan(answer.bytes, answer.errorStart, answer.errorEnd);
  const isError = isObject(error) && Number.isInteger(error['code']);
  if (!isError) return { code: -32603, message: 'The server answered with an invalid error.' };
  return error as unknown as WireError;
}
