// A legacy session's link to one server as it is: what of its requests is the server's business, and
// what the gateway does once for all clients of the server.
import { invalidParams, notOffered, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, parseString } from '../jsonrpc/parse.ts';
import { levelOf, severityOf } from '../mcp/log-levels.ts';
import { SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import type { EndpointInfo, UpstreamSession } from '../ports/dispatcher.ts';
import type { Lease } from '../ports/lease.ts';
import { type Outcome, type Request, settleLater } from '../ports/request.ts';
import { initializeResult } from '../translate/discovery.ts';
import { LegacyToModern } from '../translate/legacy-to-modern.ts';
import { WrappedResults } from '../translate/output-schemas.ts';
import type { SessionTasks } from '../translate/tasks/session-tasks.ts';

const EMPTY_RESULT = Buffer.from('{}');

/** A session's link to one server. */
export class DirectUpstreamSession implements UpstreamSession {
  readonly endpointInfo: EndpointInfo;
  readonly #lease: Lease;
  readonly #wrapped = new WrappedResults();
  readonly #tasks: SessionTasks | undefined;

  /** @param tasks absent where the server speaks plain JSON-RPC: everything is carried */
  constructor(lease: Lease, server: string, tasks?: SessionTasks) {
    const { identity } = lease;
    const result = identity === undefined ? {} : initializeResult(identity, server);
    this.#lease = lease;
    this.#tasks = tasks;
    this.endpointInfo = { result: tasks === undefined ? {} : tasks.offeredIn(result) };
  }

  /** The client was told elsewhere that the results of a tool are wrapped. */
  noteWrapped(tool: string): void {
    this.#wrapped.note(tool);
  }

  dispatch(request: Request): void {
    if (this.#tasks === undefined) {
      this.#lease.dispatch(request);
      return;
    }
    switch (request.frame.method) {
      case SET_LEVEL:
        this.#setLevel(request);
        return;
      case SUBSCRIBE:
        this.#subscription(request, (uri) => this.#lease.subscribe(uri));
        return;
      case UNSUBSCRIBE:
        this.#subscription(request, (uri) => this.#lease.unsubscribe(uri));
        return;
      default:
        if (this.#tasks.take(request)) return;
        this.#lease.dispatch(
          this.#lease.identity?.era === 'modern'
            ? new LegacyToModern(request, this.#lease, this.#wrapped)
            : request,
        );
    }
  }

  notify(notification: Frame): void {
    this.#lease.notify(notification);
  }

  close(): void {
    this.#tasks?.close();
    this.#lease.leave();
  }

  #setLevel(request: Request): void {
    const { bytes, levelStart, levelEnd } = request.frame;
    const severity = severityOf(parseString(bytes, levelStart, levelEnd));
    if (severity === undefined) {
      request.settle(invalidParams('unknown log level.'));
    } else if (this.#lease.identity?.capabilities['logging'] === undefined) {
      request.settle(notOffered('logging'));
    } else {
      settleLater(request, this.#lease.setLevel(levelOf(severity)).then(emptyOr));
    }
  }

  #subscription(request: Request, change: (uri: string) => Promise<WireError | undefined>): void {
    const { bytes, uriStart, uriEnd } = request.frame;
    const uri = parseString(bytes, uriStart, uriEnd);
    const resources = this.#lease.identity?.capabilities['resources'];
    if (uri === undefined) {
      request.settle(invalidParams('uri must be a string.'));
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
