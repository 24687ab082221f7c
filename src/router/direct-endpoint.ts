// An endpoint that shows one server as it is: names and URIs untouched.
import { ModernGate, type ModernState } from '../bridge/modern-gate.ts';
import { SessionTasks } from '../bridge/tasks/session-tasks.ts';
import type { Attachment, Endpoint } from '../ports/dispatcher.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Principal } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import type { Backend } from '../ports/seat.ts';
import { DirectAttachment, PlainAttachment } from './direct-attachment.ts';

/** One server under one path. */
export class DirectEndpoint implements Endpoint {
  readonly name: string;
  readonly #backend: Backend;
  readonly #state: ModernState;
  readonly #modern: ModernGate;

  constructor(name: string, backend: Backend, state: ModernState) {
    this.name = name;
    this.#backend = backend;
    this.#state = state;
    this.#modern = new ModernGate(name, backend, state);
  }

  get server(): string {
    return this.#backend.name;
  }

  get protocol(): 'mcp' | 'jsonrpc' {
    return this.#backend.protocol;
  }

  proofOf(principal: Principal): string {
    return this.#backend.proofOf(principal);
  }

  async attach(client: Downstream): Promise<Attachment> {
    const seat = this.#backend.place(client);
    try {
      await seat.join(undefined);
      await seat.ready();
    } catch (error) {
      seat.leave();
      throw error;
    }
    if (this.protocol !== 'mcp') return new PlainAttachment(seat);
    const tasks = new SessionTasks(client, seat, this.#backend, this.#state.tasks);
    return new DirectAttachment(seat, this.server, tasks);
  }

  serve(request: Request): void {
    this.#modern.serve(request);
  }
}
