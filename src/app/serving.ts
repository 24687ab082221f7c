// What clients are served: the servers, the endpoints that show them, and the sessions there. Goes from one
// configuration to the next without an end in between (docs/operations.md#reload): servers and endpoints
// that are the same stay as they are, sessions go on at what is in the place of theirs, and what is gone
// ends what was begun.
import type { Drain } from '../base/drain.ts';
import { drained } from '../base/drain.ts';
import type { Config } from '../config/config.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import { callMessage } from '../jsonrpc/serialize.ts';
import { PathTable } from '../listener/paths.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RequestWatchers } from '../observe/request-meter.ts';
import { ServedEndpoint } from '../session/served-endpoint.ts';
import type { Session } from '../session/session.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { ServerBackend } from '../upstream/backend.ts';
import {
  type EndpointParts,
  isSamePlan,
  isSameSelection,
  type PlannedEndpoint,
  planEndpoints,
} from './endpoints.ts';
import type { ComingServer, Servers } from './servers.ts';

/** What it is told of, and what it asks. */
export interface ServingParts {
  readonly servers: Servers;
  readonly sessions: SessionStore;
  readonly watchers: RequestWatchers;
  /** Of the gateway. */
  readonly drain: Drain;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** What endpoints are made with, as it is now. */
  endpointParts(): EndpointParts;
  /** Told of an endpoint that is another one now. */
  replaced(served: ServedEndpoint): void;
  /** Told of a server that is gone with all that was begun there. */
  forgotten(server: string): void;
  /** Told when everything of an endpoint that is gone has ended. */
  ended(served: ServedEndpoint): void;
}

/** A server that is not shown any more, and what is in its place. */
interface LeavingServer {
  readonly backend: ServerBackend;
  readonly successor?: ServerBackend;
}

/** An endpoint that is another one now. */
interface ReplacedEndpoint {
  readonly served: ServedEndpoint;
  /** Whether only servers are others, under the same names. */
  readonly isSameSelection: boolean;
}

interface ShownEndpoint {
  readonly plan: PlannedEndpoint;
  readonly served: ServedEndpoint;
}

/** What is served now. */
export class Serving {
  readonly paths = new PathTable();
  readonly #parts: ServingParts;
  /** By the beginning of their paths. */
  #shown = new Map<string, ShownEndpoint>();
  #config: Config;

  constructor(config: Config, parts: ServingParts) {
    this.#config = config;
    this.#parts = parts;
    parts.servers.open(config.servers);
    this.#showEndpoints();
  }

  /**
   * Goes on with another configuration: at once with all that needs no server to start, and with each server
   * that is new or another one as soon as it has had its first attempt. Resolves when sessions have moved.
   */
  async change(config: Config): Promise<void> {
    const { servers, drain, logger } = this.#parts;
    this.#config = config;
    const { coming, gone } = servers.change(config.servers);
    for (const { name } of gone) logger.info({ server: name }, 'server removed');
    const moved = this.#show(gone.map((backend) => ({ backend })));
    const shown = coming.map(async (server) => {
      await servers.prepare(server);
      if (drain.isOn) return;
      servers.show(server);
      this.#tellShown(server);
      const { backend: successor, before } = server;
      await this.#show(before === undefined ? [] : [{ backend: before, successor }]);
    });
    await Promise.all([moved, ...shown]);
  }

  #tellShown({ before, backend: { name } }: ComingServer): void {
    const text = before === undefined ? 'server added' : 'server replaced';
    this.#parts.logger.info({ server: name }, text);
  }

  /**
   * Shows what there is now.
   * @param leaving servers that are not shown any more
   */
  async #show(leaving: readonly LeavingServer[]): Promise<void> {
    for (const { backend } of leaving) backend.retire();
    const { replaced, gone } = this.#showEndpoints();
    const moved = Promise.all(replaced.map((one) => this.#moveSessions(one)));
    const left = moved.then(() => Promise.all(leaving.map((one) => this.#drain(one))));
    const ended = gone.map((served) => this.#end(served, left));
    void Promise.all([left, ...ended]).then(() => this.#forget(leaving));
    await moved;
  }

  /** Nothing is kept of a server that there is not any more. */
  #forget(leaving: readonly LeavingServer[]): void {
    const { servers, forgotten } = this.#parts;
    for (const { backend } of leaving) if (!servers.has(backend.name)) forgotten(backend.name);
  }

  async #drain({ backend, successor }: LeavingServer): Promise<void> {
    successor?.succeed(backend);
    await this.#parts.servers.drain(backend, this.#config.drain);
  }

  #showEndpoints(): { replaced: ReplacedEndpoint[]; gone: ServedEndpoint[] } {
    const { servers, metrics, watchers, drain, endpointParts } = this.#parts;
    const before = this.#shown;
    const after = new Map<string, ShownEndpoint>();
    const replaced: ReplacedEndpoint[] = [];
    for (const plan of planEndpoints(this.#config, servers.shown, endpointParts())) {
      const known = before.get(plan.prefix);
      if (known !== undefined && isSamePlan(known.plan, plan)) {
        after.set(plan.prefix, known);
        continue;
      }
      const endpoint = plan.make();
      if (known?.served.endpoint.protocol === endpoint.protocol) {
        const { served } = known;
        served.replace(endpoint);
        replaced.push({ served, isSameSelection: isSameSelection(known.plan, plan) });
        after.set(plan.prefix, { plan, served });
      } else {
        const served = new ServedEndpoint(endpoint, metrics, watchers, drain);
        this.paths.add(plan.prefix, served);
        after.set(plan.prefix, { plan, served });
      }
    }
    this.#shown = after;
    const gone = [...before].flatMap(([prefix, { served }]) =>
      after.get(prefix)?.served === served ? [] : [served],
    );
    for (const served of gone) served.retire();
    return { replaced, gone };
  }

  /** Sessions go on at the endpoint that is served now. */
  async #moveSessions({ served, isSameSelection }: ReplacedEndpoint): Promise<void> {
    const { sessions, replaced, logger } = this.#parts;
    replaced(served);
    const moves = sessions.at(served).map(async (session) => {
      const before = session.offered;
      try {
        await session.follow();
        if (!isSameSelection) tellLists(session, before);
      } catch (error) {
        logger.warn(
          { err: error, endpoint: served.name },
          'a session could not go on, it is ended',
        );
        sessions.end(session);
      }
    });
    await Promise.all(moves);
  }

  /**
   * Ends what is left of an endpoint that is gone.
   * @param servers resolves when those that are gone with it have ended their calls
   */
  async #end(served: ServedEndpoint, servers: Promise<unknown>): Promise<void> {
    const { sessions, ended } = this.#parts;
    const endUnused = (): boolean => {
      const busy = sessions.at(served).filter((session) => {
        if (session.pending === 0) sessions.end(session);
        return session.pending > 0;
      });
      return busy.length > 0;
    };
    await drained(endUnused, this.#config.drain);
    // Servers first, so that calls that are left get their error before their streams end.
    await servers;
    for (const session of sessions.at(served)) sessions.end(session);
    this.paths.remove(served);
    ended(served);
  }
}

/** Tells a client that its lists are others now: of all kinds that there were, and that there are. */
function tellLists(session: Session, before: JsonObject): void {
  for (const kind of ['tools', 'prompts', 'resources']) {
    if (before[kind] === undefined && session.offered[kind] === undefined) continue;
    const method = `notifications/${kind}/list_changed`;
    session.notify(callMessage(method), method);
  }
}
