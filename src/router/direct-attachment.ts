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
import type { Attachment, Welcome } from '../ports/dispatcher.ts';
import { type Outcome, type Request, settleLater } from '../ports/request.ts';
import type { Seat } from '../ports/seat.ts';

const EMPTY_RESULT = Buffer.from('{}');

/** A session's link to a server that speaks plain JSON-RPC: everything is carried. */
export class PlainAttachment implements Attachment {
  readonly welcome: Welcome = { result: {} };
  protected readonly seat: Seat;

  constructor(seat: Seat) {
    this.seat = seat;
  }

  dispatch(request: Request): void {
    this.seat.dispatch(request);
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

  override dispatch(request: Request): void {
    switch (request.frame.method) {
      case SET_LEVEL:
        this.#setLevel(request);
        return;
      case SUBSCRIBE:
        this.#subscription(request, (uri) => this.seat.subscribe(uri));
        return;
      case UNSUBSCRIBE:
        this.#subscription(request, (uri) => this.seat.unsubscribe(uri));
        return;
      default:
        if (this.#tasks.take(request)) return;
        if (this.seat.identity?.era !== 'modern') this.seat.dispatch(request);
        else new LegacyCall(request, this.seat, this.#wrapped).start();
    }
  }

  override detach(): void {
    this.#tasks.detach();
    super.detach();
  }

  #setLevel(request: Request): void {
    const { bytes, levelStart, levelEnd } = request.frame;
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    if (severity === undefined) {
      request.settle({ code: INVALID_PARAMS, message: 'Invalid params: unknown log level.' });
    } else if (this.seat.identity?.capabilities['logging'] === undefined) {
      request.settle(notOffered('logging'));
    } else {
      settleLater(request, this.seat.setLevel(levelOf(severity)).then(emptyOr));
    }
  }

  #subscription(request: Request, change: (uri: string) => Promise<WireError | undefined>): void {
    const { bytes, uriStart, uriEnd } = request.frame;
    const uri = parseString(bytes, uriStart, uriEnd);
    const resources = this.seat.identity?.capabilities['resources'];
    if (uri === undefined) {
      request.settle({ code: INVALID_PARAMS, message: 'Invalid params: uri must be a string.' });
    } else if (!isObject(resources) || resources['subscribe'] !== true) {
      request.settle(notOffered('subscriptions'));
    } else {
      settleLater(request, change(uri).then(emptyOr));
    }
  }
}

/** `{}`, or the error. */
function emptyOr(error: WireError | undefined): Outcome {
  return error ?? EMPTY_RESULT;
}

function notOffered(what: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${what} not offered.` };
}
