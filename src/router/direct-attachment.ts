// A legacy session's link to one server as it is: what of its requests is the server's business, and
// what the gateway does once for all clients of the server.
import { initializeResult } from '../bridge/discovery.ts';
import { LegacyCall } from '../bridge/legacy-call.ts';
import { WrappedResults } from '../bridge/output-schemas.ts';
import type { SessionTasks } from '../bridge/tasks/session-tasks.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseString } from '../jsonrpc/parse.ts';
import { levelOf, severityOf } from '../mcp/log-levels.ts';
import { SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import { contain } from '../ports/contain.ts';
import type { Attachment, Welcome } from '../ports/dispatcher.ts';
import type { Exchange } from '../ports/exchange.ts';
import type { Seat } from '../ports/seat.ts';

const EMPTY_RESULT = Buffer.from('{}');

/** A session's link to a server that speaks plain JSON-RPC: everything is carried. */
export class PlainAttachment implements Attachment {
  readonly welcome: Welcome = { result: {} };
  protected readonly seat: Seat;

  constructor(seat: Seat) {
    this.seat = seat;
  }

  dispatch(exchange: Exchange): void {
    this.seat.dispatch(exchange);
  }

  notify(notification: Frame): void {
    this.seat.notify(notification);
  }

  detach(): void {
    this.seat.leave();
  }
}

/** A session's link to one MCP server. */
export class DirectAttachment extends PlainAttachment {
  override readonly welcome: Welcome;
  readonly #wrapped = new WrappedResults();

  readonly #tasks: SessionTasks;

  constructor(seat: Seat, server: string, tasks: SessionTasks) {
    super(seat);
    const { identity } = seat;
    const result = identity === undefined ? {} : initializeResult(identity, server);
    this.#tasks = tasks;
    this.welcome = { result: tasks.offeredIn(result) };
  }

  /** The client was told elsewhere that the results of a tool are wrapped. */
  noteWrapped(tool: string): void {
    this.#wrapped.note(tool);
  }

  override dispatch(exchange: Exchange): void {
    switch (exchange.frame.method) {
      case SET_LEVEL:
        this.#setLevel(exchange);
        return;
      case SUBSCRIBE:
        this.#subscription(exchange, (uri) => this.seat.subscribe(uri));
        return;
      case UNSUBSCRIBE:
        this.#subscription(exchange, (uri) => this.seat.unsubscribe(uri));
        return;
      default:
        if (this.#tasks.take(exchange)) return;
        if (this.seat.identity?.era !== 'modern') this.seat.dispatch(exchange);
        else new LegacyCall(exchange, this.seat, this.#wrapped).start();
    }
  }

  override detach(): void {
    this.#tasks.detach();
    super.detach();
  }

  #setLevel(exchange: Exchange): void {
    const { bytes, levelStart, levelEnd } = exchange.frame;
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    if (severity === undefined) {
      exchange.refuse({ code: INVALID_PARAMS, message: 'Invalid params: unknown log level.' });
    } else if (this.seat.identity?.capabilities['logging'] === undefined) {
      exchange.refuse(notOffered('logging'));
    } else {
      contain(exchange, settle(exchange, this.seat.setLevel(levelOf(severity))));
    }
  }

  #subscription(exchange: Exchange, change: (uri: string) => Promise<WireError | undefined>): void {
    const { bytes, uriStart, uriEnd } = exchange.frame;
    const uri = parseString(bytes, uriStart, uriEnd);
    const resources = this.seat.identity?.capabilities['resources'];
    if (uri === undefined) {
      exchange.refuse({ code: INVALID_PARAMS, message: 'Invalid params: uri must be a string.' });
    } else if (!isObject(resources) || resources['subscribe'] !== true) {
      exchange.refuse(notOffered('subscriptions'));
    } else {
      contain(exchange, settle(exchange, change(uri)));
    }
  }
}

/** Answers `{}`, or with the error. */
async function settle(exchange: Exchange, change: Promise<WireError | undefined>): Promise<void> {
  const error = await change;
  if (error === undefined) exchange.answer(EMPTY_RESULT);
  else exchange.refuse(error);
}

function notOffered(what: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${what} not offered.` };
}
