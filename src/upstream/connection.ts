// One life of a server: its channel and the mux on it, from spawn to the end of the process. An
// instance has one after the other; nothing of a connection outlives it.

import { randomBytes } from 'node:crypto';
import { monotonicMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import type { FindOwner } from '../base/held-bytes.ts';
import { TurnQuota } from '../base/turns.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import { isCacheable } from '../mcp/modern-methods.ts';
import { requiredIds } from '../mcp/url-elicitation.ts';
import { soleCaller } from '../mux/attribution.ts';
import type { InteractiveTools } from '../mux/interactive-tools.ts';
import { Mux } from '../mux/mux.ts';
import type { MuxEvents } from '../mux/mux-contract.ts';
import { ServerRequests } from '../mux/server-requests.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLine } from '../observe/rare-line.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Principal } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import { DRAINING, describeEnd, SESSION_LOST } from './end-reasons.ts';
import type { FanOut } from './fan-out.ts';
import type { ServerOptions } from './options.ts';
import type { OpenChannel, ServerChannel } from './server-channel.ts';
import { UpstreamListen } from './upstream-listen.ts';

/** Broken messages within a minute after which a server is restarted (docs/reliability.md#limits). */
const MAX_VIOLATIONS = 3;
const VIOLATION_WINDOW_MS = 60_000;
const NONE: ReadonlySet<number> = new Set();
const LIFE_BYTES = 9;
/** What is read of one server in one turn of the event loop, and of all of them. */
const TURN_BYTES = 256 * 1024;
const ALL_SERVERS = new TurnQuota(4 * TURN_BYTES);
/** What it costs to tell one client of a notification, in bytes. */
const COST_OF_LISTENER = 512;
/** How much of what is no message is logged. */
const SHOWN = 200;

export interface ConnectionContext {
  readonly options: ServerOptions;
  readonly tools: InteractiveTools;
  readonly traffic: Traffic;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Where what is held for the server counts. */
  readonly owner: FindOwner;
  readonly openChannel: OpenChannel;
  readonly exposesDetails: boolean;
  readonly staticRoots: Buffer | undefined;
  /**
   * Whose server it is, as last seen, all of equal credentials; undefined when everybody shares it.
   */
  principal(): Principal | undefined;
  soleClient(): Downstream | undefined;
  /** Who is told what the server tells everybody, and to whom it goes. */
  readonly audience: Pick<FanOut, 'elicited' | 'recent' | 'delivered' | 'isBehind'>;
}

export interface ConnectionEvents extends Pick<MuxEvents, 'notified' | 'settled' | 'isAwaited'> {
  /** A client's request was answered with a result. */
  answered(request: Frame, answer: Frame): void;
  /**
   * The server is gone, or has to go. Told once.
   * @param again calls that the next connection may take
   */
  ended(reason: string, again: readonly Request[]): void;
}

/** A running server. */
export class Connection {
  readonly mux: Mux;
  /**
   * Which generation of the server it is, unlike any other of any gateway. Empty for a remote
   * server, which goes on without its connection.
   */
  readonly generation: string;
  readonly #channel: ServerChannel;
  readonly #context: ConnectionContext;
  readonly #events: ConnectionEvents;
  readonly #quota: TurnQuota;
  #violations: number[] = [];
  #listen: UpstreamListen | undefined;
  #hasWarned = false;
  #isEnded = false;

  constructor(context: ConnectionContext, events: ConnectionEvents) {
    this.#context = context;
    this.#events = events;
    const { audience } = context;
    this.#quota = new TurnQuota(TURN_BYTES, ALL_SERVERS, () => audience.isBehind);
    const { options, logger, openChannel, traffic, tools } = context;
    this.generation =
      options.target.kind === 'stdio' ? randomBytes(LIFE_BYTES).toString('base64url') : '';
    this.#channel = openChannel(options, {
      logger,
      quota: this.#quota,
      owner: context.owner,
      principal: () => context.principal(),
      events: {
        received: (message, about) => this.#receive(message, about),
        failed: (id, failure) => this.mux.failed(id, failure),
        awaits: (id) => this.mux.awaits(id),
        oversize: (...dropped) => {
          if (!this.#isEnded) this.mux.receiveOversize(...dropped);
        },
        noise: () => {
          traffic.noise++;
          this.#warnOfNoise();
        },
        drained: () => events.settled(),
        closed: (reason, notTaken) => this.end(reason, notTaken),
      },
    });
    const { request: requestMs, requestMax: requestMaxMs } = options.timeouts;
    const misnamed = new RareLine<number>((count, id) =>
      logger.warn(
        { count, id },
        'server answers with the id as a text where it was sent as a number: its calls fail',
      ),
    );
    this.mux = new Mux(
      { server: options.name, protocol: options.protocol, requestMs, requestMaxMs },
      {
        channel: this.#channel,
        tools,
        traffic,
        recent: audience.recent,
        events: {
          notified: (notification, about) => {
            const before = audience.delivered;
            events.notified(notification, about);
            this.#quota.spend((audience.delivered - before) * COST_OF_LISTENER);
          },
          settled: events.settled,
          answered: (request, answer) => this.#answered(request, answer),
          isAwaited: events.isAwaited,
          violated: (what) => this.#violated(what),
          misnamed: (id) => misnamed.note(id),
          dropped: (what, text) => {
            const line = text.toString('utf8', 0, SHOWN);
            context.logger.debug({ what, line }, 'server wrote something that is no message');
          },
        },
      },
    );
    this.mux.serverRequests = this.#createServerRequests();
  }

  /** What can't be taken is dropped: no message of a server may end the gateway. */
  #receive(message: Buffer, about: number | undefined): boolean {
    // A large message is worked off in several turns, and its server may be gone by then.
    if (this.#isEnded) return false;
    const { traffic } = this.#context;
    const answers = traffic.responses - traffic.unmatched;
    try {
      this.mux.receive(message, about);
    } catch (error) {
      this.#context.logger.error({ err: error }, 'message of a server could not be taken');
    }
    return traffic.responses - traffic.unmatched > answers;
  }

  get pid(): number | undefined {
    return this.#channel.pid;
  }

  /** Which version of which program it is; empty where nobody knows. */
  get program(): string {
    return this.#channel.program ?? '';
  }

  /** What the server last said on stderr, to explain why it ended. */
  get lastStderrLine(): string {
    return this.#channel.lastStderrLine;
  }

  /** The call of the only client that has any here, of those that `mayBeFor` lets through. */
  soleCaller(mayBeFor: (client: Downstream) => boolean): Request | undefined {
    return soleCaller(this.mux.calls(), monotonicMs(), mayBeFor);
  }

  /** Whose calls and tasks are here, those included whose caller left. */
  *callers(): Iterable<Downstream> {
    for (const { client } of this.mux.calls()) if (client !== undefined) yield client;
    yield* this.mux.tasks.subscribers();
  }

  /** Opens the listen stream of a modern server, or another one in its place. */
  listen(params: JsonObject): Promise<JsonObject | undefined> {
    this.#listen ??= new UpstreamListen(this.mux);
    return this.#listen.open(params);
  }

  /** A modern server's notification as clients are to be told it; undefined: not at all. */
  received(notification: Frame): Frame | undefined {
    return this.#listen === undefined ? notification : this.#listen.receive(notification);
  }

  /**
   * Ends it: calls in flight fail at once, but for those that go to the next session once this one is
   * lost: what only reads, and what was not taken (docs/protocol.md#gw-144).
   * @param notTaken requests that the server did not take for sure
   */
  end(reason: string, notTaken: ReadonlySet<number> = NONE): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#listen?.close();
    const again = this.mux.close(
      (id) => this.#failureOf(reason, notTaken.has(id)),
      (id, { frame, isRepeated }) =>
        reason === SESSION_LOST &&
        isRepeated !== true &&
        (notTaken.has(id) || isCacheable(frame.method)),
    );
    for (const request of again) request.isRepeated = true;
    this.#events.ended(reason, again);
  }

  /** What a call fails with that was here when it ended. */
  #failureOf(reason: string, isNotTaken: boolean): GatewayError {
    const server = this.#context.options.name;
    const why = describeEnd(reason, '', this.#context.exposesDetails);
    if (isNotTaken) {
      const text = `Server "${server}" ended (${why}) and did not take the request; send it again.`;
      return new GatewayError('server_unavailable', text, { outcome: 'not_sent', server });
    }
    const isDraining = reason === DRAINING;
    return new GatewayError(
      isDraining ? 'draining' : 'server_exited',
      isDraining
        ? `The gateway stopped before server "${server}" answered; it may have run the request.`
        : `Server "${server}" ended (${why}) before it answered; it may have run the request.`,
      { outcome: 'unknown', server },
    );
  }

  /** Stops the process and resolves when nothing of it is left. */
  async stop(): Promise<void> {
    await this.#channel.close();
  }

  #answered(request: Request, answer: Frame): void {
    if (answer.resultStart >= 0) {
      this.#events.answered(request.frame, answer);
      return;
    }
    for (const id of requiredIds(answer)) this.#context.audience.elicited(id, request.client);
  }

  #createServerRequests(): ServerRequests {
    const { options, tools, logger, metrics, staticRoots } = this.#context;
    return new ServerRequests({
      server: options.name,
      protocol: options.protocol,
      soleClient: () => this.#context.soleClient(),
      staticRoots,
      tools,
      logger,
      metrics,
      calls: () => this.mux.calls(),
      subscriberOf: (taskId) => this.mux.tasks.find(taskId),
      send: (message) => this.mux.notify(message),
      elicited: (id, client) => this.#context.audience.elicited(id, client),
    });
  }

  /** Once in the life of a server: its author will want to know. */
  #warnOfNoise(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#context.logger.warn(
      'server writes text to stdout that is no message; it is dropped, and shown at level debug',
    );
  }

  #violated(what: string): void {
    const { logger } = this.#context;
    logger.debug({ what }, 'server sent an answer that is not valid');
    const nowMs = monotonicMs();
    this.#violations = this.#violations.filter((atMs) => nowMs - atMs < VIOLATION_WINDOW_MS);
    this.#violations.push(nowMs);
    if (this.#violations.length <= MAX_VIOLATIONS) return;
    logger.warn({ what }, 'server broke the protocol repeatedly, it is restarted');
    this.end('protocol_violations');
  }
}
