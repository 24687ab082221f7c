// A connection to a server: its channel and its mux, from the start of the process to its end. An instance
// has one connection after another. Nothing of a connection outlives it.

import { randomBytes } from 'node:crypto';
import { monotonicMs } from '../base/clock.ts';
import type { GatewayError } from '../base/errors.ts';
import { TurnQuota } from '../base/turns.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import type { JsonObject } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { FAILURES } from '../mcp/failures.ts';
import { isCacheable } from '../mcp/modern-methods.ts';
import { Mux } from '../mux/mux.ts';
import type { Logger } from '../observe/logger.ts';
import type { ServerChannel } from '../ports/channel.ts';
import type { Caller, Request } from '../ports/request.ts';
import type { CallQueue } from './call-queue.ts';
import { DRAINING, describeEnd, SESSION_LOST } from './end-reasons.ts';
import type { FanOut } from './fan-out.ts';
import type { KnownLists } from './known-lists.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ServerContext } from './server-context.ts';
import { UpstreamListen } from './upstream-listen.ts';

/** After so many malformed messages in a minute a server is restarted (docs/reliability.md#limits). */
const MAX_VIOLATIONS = 3;
const VIOLATION_WINDOW_MS = 60_000;
const NONE: ReadonlySet<number> = new Set();
const LIFE_BYTES = 9;
/** What is read of one server, and of all servers, in one turn of the event loop. */
const TURN_BYTES = 256 * 1024;
const ALL_SERVERS = new TurnQuota(4 * TURN_BYTES);
/** The cost of sending a notification to one client, in bytes. */
const COST_OF_LISTENER = 512;

/** The parts of an instance that its connections need. */
export interface ConnectionOwner {
  readonly server: ServerContext;
  readonly logger: Logger;
  readonly life: Lifecycle;
  readonly queue: CallQueue;
  readonly fanOut: FanOut;
  readonly lists: KnownLists;
  /**
   * The server has ended, or must be ended. Called once.
   * @param again calls that the next connection may take
   */
  ended(connection: Connection, reason: string, again: readonly Request[]): void;
}

/** A running server. */
export class Connection {
  readonly mux: Mux;
  /**
   * Identifies the generation of the server, different from all others of any gateway. Empty for a remote
   * server, whose state does not end with the connection.
   */
  readonly generation: string;
  readonly #channel: ServerChannel;
  readonly #owner: ConnectionOwner;
  readonly #quota: TurnQuota;
  #violations: number[] = [];
  #listen: UpstreamListen | undefined;
  #hasWarned = false;
  #isEnded = false;

  constructor(owner: ConnectionOwner) {
    this.#owner = owner;
    const { server, logger, life, queue, fanOut, lists } = owner;
    this.#quota = new TurnQuota(TURN_BYTES, ALL_SERVERS, () => fanOut.deliveries.isBehind);
    const { options, traffic, tools, metrics } = server;
    this.generation =
      options.target.kind === 'stdio' ? randomBytes(LIFE_BYTES).toString('base64url') : '';
    this.#channel = server.openChannel(options, {
      logger,
      quota: this.#quota,
      owner: server.owner,
      principal: () => life.principal,
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
        drained: () => queue.pump(),
        closed: (reason, notTaken) => this.end(reason, notTaken),
      },
    });
    const { name, protocol, timeouts } = options;
    this.mux = new Mux(
      { server: name, protocol, timeouts },
      {
        channel: this.#channel,
        audience: fanOut,
        queue,
        lists,
        tools,
        traffic,
        logger,
        metrics,
        staticRoots: options.roots.length > 0 ? jsonBytes({ roots: options.roots }) : undefined,
        events: {
          notified: (notification, about) => this.#notified(notification, about),
          violated: (what) => this.#violated(what),
        },
      },
    );
  }

  #notified(notification: Frame, about: Caller | undefined): void {
    const { lists, fanOut } = this.#owner;
    // What clients get of a modern server's notification; undefined: nothing.
    const told = this.#listen === undefined ? notification : this.#listen.receive(notification);
    if (told === undefined) return;
    lists.noticed(told.method);
    const before = fanOut.deliveries.delivered;
    fanOut.deliver(told, about);
    this.#quota.spend((fanOut.deliveries.delivered - before) * COST_OF_LISTENER);
  }

  /** A message that can't be processed is dropped: no message of a server may end the gateway. */
  #receive(message: Buffer, about: number | undefined): boolean {
    // A large message takes several turns, and the connection may have ended by then.
    if (this.#isEnded) return false;
    const { traffic } = this.#owner.server;
    const answers = traffic.responses - traffic.unmatched;
    try {
      this.mux.receive(message, about);
    } catch (error) {
      this.#owner.logger.error({ err: error }, 'message of a server could not be processed');
    }
    return traffic.responses - traffic.unmatched > answers;
  }

  get pid(): number | undefined {
    return this.#channel.pid;
  }

  /** Identifies the program and its version; empty if it is not known. */
  get program(): string {
    return this.#channel.program ?? '';
  }

  /** The last useful line on the server's stderr, to explain why it ended. */
  get lastStderrLine(): string {
    return this.#channel.lastStderrLine;
  }

  /** Opens the listen stream of a modern server, or replaces it. */
  listen(params: JsonObject): Promise<JsonObject | undefined> {
    this.#listen ??= new UpstreamListen(this.mux);
    return this.#listen.open(params);
  }

  /**
   * Ends the connection. Calls in flight fail at once. If a session was lost, calls that only read, or that
   * the server did not take, go to the next session instead (docs/protocol.md#gw-144).
   * @param notTaken requests that the server certainly did not take
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
    this.#owner.ended(this, reason, again);
  }

  /** The failure of a call in flight when the connection ended. */
  #failureOf(reason: string, isNotTaken: boolean): GatewayError {
    const { options, common } = this.#owner.server;
    const server = options.name;
    const why = describeEnd(reason, '', common.exposesDetails);
    if (isNotTaken) return FAILURES.notTaken(server, why);
    return reason === DRAINING
      ? FAILURES.stoppedBeforeAnswer(server)
      : FAILURES.endedBeforeAnswer(server, why);
  }

  /** Stops the process. Resolves when nothing of it is left. */
  async stop(): Promise<void> {
    await this.#channel.close();
  }

  /** Logged once for a server, for its author. */
  #warnOfNoise(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#owner.logger.warn(
      'server writes text to stdout that is not a message; it is dropped, and logged at level debug',
    );
  }

  #violated(what: string): void {
    const { logger } = this.#owner;
    logger.debug({ what }, 'server sent an answer that is not valid');
    const nowMs = monotonicMs();
    this.#violations = this.#violations.filter((atMs) => nowMs - atMs < VIOLATION_WINDOW_MS);
    this.#violations.push(nowMs);
    if (this.#violations.length <= MAX_VIOLATIONS) return;
    logger.warn({ what }, 'server broke the protocol repeatedly, it is restarted');
    this.end('protocol_violations');
  }
}
