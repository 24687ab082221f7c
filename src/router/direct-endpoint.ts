// An endpoint that shows one server as it is: names and URIs untouched.
import { METHOD_NOT_FOUND } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE } from '../mcp/methods.ts';
import type { Attachment, Endpoint, Welcome } from '../ports/dispatcher.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange } from '../ports/exchange.ts';
import type { Backend, Seat } from '../ports/seat.ts';

/** One server under one path. */
export class DirectEndpoint implements Endpoint {
  readonly name: string;
  readonly #backend: Backend;

  constructor(name: string, backend: Backend) {
    this.name = name;
    this.#backend = backend;
  }

  get server(): string {
    return this.#backend.name;
  }

  get protocol(): 'mcp' | 'jsonrpc' {
    return this.#backend.protocol;
  }

  async attach(client: Downstream): Promise<Attachment> {
    const seat = await this.#backend.seat(client);
    return this.protocol === 'mcp' ? new DirectAttachment(seat) : new PlainAttachment(seat);
  }
}

/** A session's link to one MCP server. */
class DirectAttachment implements Attachment {
  readonly #seat: Seat;

  constructor(seat: Seat) {
    this.#seat = seat;
  }

  get welcome(): Welcome {
    const result = this.#seat.identity?.initializeResult ?? {};
    return { result: withoutTasks(result) };
  }

  dispatch(exchange: Exchange): void {
    switch (exchange.frame.method) {
      case SET_LEVEL:
        this.#seat.setLevel(exchange);
        return;
      case SUBSCRIBE:
        this.#seat.subscribe(exchange);
        return;
      case UNSUBSCRIBE:
        this.#seat.unsubscribe(exchange);
        return;
      default:
        if (exchange.frame.method.startsWith('tasks/')) refuse(exchange);
        else this.#seat.dispatch(exchange);
    }
  }

  notify(notification: Frame): void {
    this.#seat.notify(notification);
  }

  detach(): void {
    this.#seat.leave();
  }
}

/** A session's link to a server that speaks plain JSON-RPC: everything is carried. */
class PlainAttachment implements Attachment {
  readonly welcome: Welcome = { result: {} };
  readonly #seat: Seat;

  constructor(seat: Seat) {
    this.#seat = seat;
  }

  dispatch(exchange: Exchange): void {
    this.#seat.dispatch(exchange);
  }

  notify(notification: Frame): void {
    this.#seat.notify(notification);
  }

  detach(): void {
    this.#seat.leave();
  }
}

// A task id is a handle that any client of a shared server could use: not offered until ids are
// bound to their owner.
function withoutTasks(result: JsonObject): JsonObject {
  const { capabilities } = result;
  if (!isObject(capabilities)) return result;
  const { tasks: _, ...rest } = capabilities;
  return { ...result, capabilities: rest };
}

function refuse(exchange: Exchange): void {
  exchange.refuse({ code: METHOD_NOT_FOUND, message: 'Method not found: tasks are not offered.' });
}
