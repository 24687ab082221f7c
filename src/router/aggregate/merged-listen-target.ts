// A modern client's listen stream at a merged endpoint: one target made of all servers.

import { LEAST_COST, TurnQuota, turnFor } from '../../base/turns.ts';
import type { JsonObject } from '../../jsonrpc/parse.ts';
import { ERRORS } from '../../mcp/errors.ts';
import type { SubscribeAnswered } from '../../ports/lease.ts';
import type { ListenTarget } from '../../translate/modern-listen.ts';
import type { TaskWatch, TellTask } from '../../translate/tasks/task-watch.ts';
import type { MemberLeases } from './member-leases.ts';
import { shownOwners } from './routes.ts';
import type { WantedResource } from './watched-resources.ts';

/**
 * What listen streams may spend on looking up resources in one turn of the event loop, because rules take
 * time.
 */
const IN_TURN = new TurnQuota(64 * LEAST_COST);

/** Leases of all servers, as one target. */
export class MergedListenTarget implements ListenTarget {
  readonly #memberLeases: MemberLeases;
  /** By server name. */
  readonly #watches = new Map<string, TaskWatch>();
  readonly #left: () => void;
  #hasLeft = false;

  /** @param left called when the stream is over */
  constructor(memberLeases: MemberLeases, left: () => void) {
    this.#memberLeases = memberLeases;
    this.#left = left;
  }

  get capabilities(): JsonObject {
    return this.#memberLeases.capabilities;
  }

  async join(): Promise<void> {
    await this.#memberLeases.ready();
  }

  async subscribeAll(uris: readonly string[], answered: SubscribeAnswered): Promise<void> {
    if (uris.length === 0) return;
    const { table } = await this.#memberLeases.view.resourcesToSearch(...uris);
    const wanted: WantedResource[] = [];
    for (const uri of uris) {
      const turn = turnFor(IN_TURN, uri.length);
      if (turn !== undefined) await turn;
      if (this.#hasLeft) return;
      const matchBudget = { left: 0 };
      const owners = shownOwners(this.#memberLeases, table, uri, matchBudget);
      // The cost of comparing it with templates is known only afterwards.
      if (matchBudget.left < 0) IN_TURN.spend(-matchBudget.left);
      if (owners.length > 0) wanted.push({ uri, owners });
      else answered(uri, ERRORS.noSuchResource);
    }
    await this.#memberLeases.watched.watchAll(wanted, answered);
  }

  /** The id of a task says which server runs it. */
  watch(taskId: string, tell: TellTask): Promise<boolean> {
    const { parts, principal, client } = this.#memberLeases;
    const { state, members, visibility } = parts;
    const server = state.tasks.table.open(taskId, principal)?.server;
    const dispatcher = members.find(({ key }) => key === server)?.dispatcher;
    if (server === undefined || dispatcher === undefined) return Promise.resolve(false);
    if (!visibility.opens(principal, server)) return Promise.resolve(false);
    const watch = this.#watches.get(server) ?? dispatcher.watchTasks(client, tell);
    this.#watches.set(server, watch);
    return watch.watch(taskId);
  }

  leave(): void {
    this.#hasLeft = true;
    for (const watch of this.#watches.values()) watch.leave();
    this.#left();
    this.#memberLeases.leave();
  }
}
