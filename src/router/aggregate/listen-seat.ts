// A modern client's listen stream at all servers of an endpoint: one seat made of theirs.
import type { ListenPlace } from '../../bridge/modern-listen.ts';
import type { TaskWatch, TellTask } from '../../bridge/tasks/task-watch.ts';
import { INVALID_PARAMS, type WireError } from '../../jsonrpc/error.ts';
import type { JsonObject } from '../../jsonrpc/parse.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import type { ClientLinks } from './client-links.ts';
import { shownOwners } from './routes.ts';

/** Places at all servers, as one. */
export class ListenSeat implements ListenPlace {
  readonly #client: Downstream;
  readonly #links: ClientLinks;
  readonly #parts: AggregateParts;
  /** By the name of their server. */
  readonly #watches = new Map<string, TaskWatch>();
  readonly #left: () => void;

  /** @param left told when the stream is no longer */
  constructor(client: Downstream, links: ClientLinks, parts: AggregateParts, left: () => void) {
    this.#client = client;
    this.#links = links;
    this.#parts = parts;
    this.#left = left;
  }

  get capabilities(): JsonObject {
    return this.#links.capabilities;
  }

  async join(): Promise<void> {
    await this.#links.ready();
  }

  async subscribe(uri: string): Promise<WireError | undefined> {
    const { table } = await this.#links.view.resourcesToSearch(uri);
    const shownTo = { parts: this.#parts, principal: this.#client.principal };
    const owners = shownOwners(shownTo, table, uri);
    if (owners.length > 0) return await this.#links.watched.watch(uri, owners);
    return { code: INVALID_PARAMS, message: 'No server has this resource.' };
  }

  /** A task's id says which server runs it. */
  watch(taskId: string, tell: TellTask): Promise<boolean> {
    const { state, members, visibility } = this.#parts;
    const server = state.tasks.table.open(taskId, this.#client.principal)?.server;
    const gate = members.find(({ key }) => key === server)?.gate;
    if (server === undefined || gate === undefined) return Promise.resolve(false);
    if (!visibility.opens(this.#client.principal, server)) return Promise.resolve(false);
    const watch = this.#watches.get(server) ?? gate.watchTasks(this.#client, tell);
    this.#watches.set(server, watch);
    return watch.watch(taskId);
  }

  leave(): void {
    for (const watch of this.#watches.values()) watch.leave();
    this.#left();
    this.#links.leave();
  }
}
