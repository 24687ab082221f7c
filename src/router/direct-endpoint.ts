// An endpoint that shows one server as it is: names and URIs untouched.
import type { Endpoint, UpstreamSession } from '../ports/dispatcher.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Backend } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import { ModernDispatcher, type ModernState } from '../translate/modern-dispatcher.ts';
import { SessionTasks } from '../translate/tasks/session-tasks.ts';
import { DirectUpstreamSession } from './direct-upstream-session.ts';

/** One server under one path. */
export class DirectEndpoint implements Endpoint {
  readonly name: string;
  readonly #backend: Backend;
  readonly #state: ModernState;
  readonly #modern: ModernDispatcher;

  constructor(name: string, backend: Backend, state: ModernState) {
    this.name = name;
    this.#backend = backend;
    this.#state = state;
    this.#modern = new ModernDispatcher(name, backend, state);
  }

  get server(): string {
    return this.#backend.name;
  }

  get protocol(): 'mcp' | 'jsonrpc' {
    return this.#backend.protocol;
  }

  credentialFingerprint(principal: Principal): string {
    return this.#backend.credentialFingerprint(principal);
  }

  async open(client: Downstream): Promise<UpstreamSession> {
    const lease = this.#backend.acquire(client);
    try {
      await lease.join(undefined);
      await lease.ready();
    } catch (error) {
      lease.leave();
      throw error;
    }
    if (this.protocol !== 'mcp') return new DirectUpstreamSession(lease, this.server);
    const tasks = new SessionTasks(client, lease, this.#backend, this.#state.tasks);
    return new DirectUpstreamSession(lease, this.server, tasks);
  }

  serve(request: Request): void {
    this.#modern.serve(request);
  }
}
