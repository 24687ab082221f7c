// The composition root: builds every part bottom-up and hands each its ports. The only folder that
// knows all the others.
import { AdminServer } from '../admin/admin-server.ts';
import { within } from '../base/clock.ts';
import { Drain, drained } from '../base/drain.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { AllLists } from '../catalog/all-lists.ts';
import { lockFileOf, readLockFile } from '../catalog/pins/lock-file.ts';
import { Pins } from '../catalog/pins/pins.ts';
import { ArgumentValidators } from '../catalog/validation/argument-validators.ts';
import type { Config } from '../config/config.ts';
import { servesItsOwner } from '../config/exposure.ts';
import { type ListenerContext, servedEndpoint } from '../listener/context.ts';
import { HttpServer } from '../listener/http-server.ts';
import { PathTable } from '../listener/paths.ts';
import { StreamTimers } from '../listener/stream-timers.ts';
import type { Logger } from '../observe/logger.ts';
import { MessageLog } from '../observe/message-log.ts';
import { Metrics, type Snapshot } from '../observe/metrics.ts';
import { ModernRequests } from '../session/modern-requests.ts';
import type { SessionStore } from '../session/session-store.ts';
import { createModernState, type ModernState } from '../translate/modern-dispatcher.ts';
import { ServerBackend } from '../upstream/backend.ts';
import { channelOpener, logged } from '../upstream/kinds.ts';
import { ProcessBudget } from '../upstream/process-budget.ts';
import type { FirstStarts } from '../upstream/restarts.ts';
import type { Environment } from '../upstream/stdio/environment.ts';
import { type ClientAccess, createAccess } from './access.ts';
import type { KeptData } from './data.ts';
import { createEndpoints } from './endpoints.ts';
import { createHeldBytes } from './held.ts';
import { listenForAdmin, listenPublicly } from './listen-error.ts';

/** After the drain everything that is left is ended; this is how long that may take. */
const CLOSE_LIMIT_MS = 15_000;
/** How long servers may take to start before the gateway is ready without them. */
const START_LIMIT_MS = 5_000;

/** A whole gateway. */
export class Gateway {
  readonly #config: Config;
  readonly #logger: Logger;
  readonly #drain = new Drain();
  readonly #metrics: Metrics;
  readonly #held: HeldBytes;
  readonly #backends: readonly ServerBackend[];
  readonly #sessions: SessionStore;
  readonly #access: ClientAccess;
  readonly #streamTimers: StreamTimers;
  readonly #modernRequests = new ModernRequests();
  readonly #lists: AllLists;
  readonly #modern: ModernState;
  readonly #validators = new ArgumentValidators();
  readonly #http: HttpServer;
  readonly #admin: AdminServer;
  #hasStarted = false;
  #opening: Promise<void> | undefined;

  constructor(
    config: Config,
    parts: {
      logger: Logger;
      version: string;
      environment: Environment;
      data: Pick<KeptData, 'sessionKeys' | 'stateKeys' | 'sessions'>;
      /** Texts that never reach a log. */
      secrets: ReadonlySet<string>;
      firstStarts?: FirstStarts | undefined;
    },
  ) {
    this.#config = config;
    this.#logger = parts.logger;
    this.#metrics = new Metrics({ version: parts.version, node: process.version });
    this.#held = createHeldBytes(config, this.#metrics);
    this.#lists = new AllLists(parts.logger, this.#held);
    const state = { ...config.state, keys: parts.data.stateKeys };
    this.#modern = createModernState(state, this.#lists, this.#held);
    const messages = config.log.messages ? new MessageLog(parts.logger, parts.secrets) : undefined;
    const plain = channelOpener(parts.environment, {
      servers: config.servers,
      logger: parts.logger,
    });
    const openChannel = messages === undefined ? plain : logged(plain, messages);
    const budget = new ProcessBudget(config.processes);
    this.#backends = config.servers.map(
      (server) =>
        new ServerBackend(server, {
          budget,
          logger: parts.logger,
          metrics: this.#metrics,
          held: this.#held,
          openChannel,
          gatewayVersion: parts.version,
          sessionIdleMs: config.sessions.idle,
          exposesDetails: servesItsOwner(config),
          firstStarts: parts.firstStarts,
        }),
    );
    this.#access = createAccess(config, this.#modern.suspendedCalls, {
      logger: parts.logger,
      metrics: this.#metrics,
      held: this.#held,
      environment: parts.environment,
      drain: this.#drain,
      data: parts.data,
    });
    this.#sessions = this.#access.sessions;
    this.#streamTimers = new StreamTimers(this.#access.openStreams, () => this.#access.sweep());
    this.#http = new HttpServer(this.#listenerContext(messages), this.#createPaths(parts.version));
    this.#admin = new AdminServer({
      options: config.admin,
      metrics: this.#metrics,
      notReadyBecause: () => this.#notReadyBecause(),
      unavailable: () => this.#unavailable,
    });
    this.#metrics.observe(() => this.#snapshot());
  }

  /**
   * Opens the listeners and starts the servers; resolves when each had its first attempt, after 5 s
   * without those that take longer, or when the gateway is stopped meanwhile.
   * @throws when an address can't be had
   */
  async start(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
    if (this.#drain.isOn) return;
    await within(START_LIMIT_MS, Promise.all(this.#backends.map((backend) => backend.start())));
    if (this.#drain.isOn) return;
    this.#hasStarted = true;
    const unavailable = this.#unavailable;
    this.#logger.info(Object.keys(unavailable).length === 0 ? {} : { unavailable }, 'ready');
  }

  /**
   * Lets calls in flight finish, then ends everything. Meanwhile clients still come in with what
   * those calls need: answers to server requests, cancels, the next round; all else is turned away.
   * Nothing is left when it resolves.
   */
  async stop(): Promise<void> {
    this.#drain.begin();
    // A listener that is about to open has to be there to be closed.
    await this.#opening?.catch(() => undefined);
    this.#http.drain();
    this.#modern.listens.end();
    const isBusy = (): boolean => this.#pending > 0 || this.#http.hasUnsent;
    await drained(isBusy, this.#config.drain);
    const left = this.#pending;
    if (left > 0) this.#logger.warn({ left }, 'drain took too long, calls in flight fail');
    await within(CLOSE_LIMIT_MS, this.#closeAll());
  }

  /** Writes what waits for the disk now, for a process that ends at once. */
  flush(): void {
    this.#access.audit?.flush();
  }

  async #open(): Promise<void> {
    const { admin: forAdmin, listen } = this.#config;
    const admin = await listenForAdmin(forAdmin, () => this.#admin.listen());
    this.#logger.info({ listener: 'admin', url: admin }, 'listening');
    const address = await listenPublicly(listen, () => this.#http.listen());
    this.#logger.info({ listener: 'public', url: address }, 'listening');
  }

  /** Calls that are not answered, suspended ones of modern clients included. */
  get #pending(): number {
    return this.#sessions.pending + this.#modernRequests.pending + this.#modern.suspendedCalls.size;
  }

  async #closeAll(): Promise<void> {
    // Servers first, so that calls in flight get their error before their streams end.
    const backends = Promise.all(this.#backends.map((backend) => backend.close('draining')));
    this.#modern.suspendedCalls.close();
    this.#modern.tasks.table.close();
    this.#sessions.close();
    this.#modernRequests.close();
    this.#streamTimers.close();
    await this.#http.close();
    await backends;
    await this.#validators.close();
    await this.#admin.close();
    await this.#access.audit?.close();
  }

  #listenerContext(messages: MessageLog | undefined): ListenerContext {
    const { gatekeeper, openStreams, memoryPressure, bodies } = this.#access;
    return {
      messages,
      gatekeeper,
      openStreams,
      memoryPressure,
      bodies,
      held: this.#held,
      options: this.#config.listen,
      sessions: this.#sessions,
      modern: this.#modernRequests,
      streamTimers: this.#streamTimers,
      logger: this.#logger,
      metrics: this.#metrics,
      drain: this.#drain,
    };
  }

  #createPaths(gatewayVersion: string): PathTable {
    const paths = new PathTable();
    const { file } = this.#config;
    const pins = new Pins(file === undefined ? new Map() : readLockFile(lockFileOf(file)));
    const parts = {
      policy: this.#access.gatekeeper.isOn ? this.#access.gatekeeper.policy : undefined,
      state: this.#modern,
      lists: this.#lists,
      validators: this.#validators,
      pins,
      logger: this.#logger,
      gatewayVersion,
    };
    const { watchers } = this.#access;
    for (const { prefix, endpoint } of createEndpoints(this.#config, this.#backends, parts)) {
      paths.add(prefix, servedEndpoint(endpoint, this.#metrics, watchers));
    }
    return paths;
  }

  /** Servers that can't be used now, and why. */
  get #unavailable(): Record<string, string> {
    const down = this.#backends.filter(({ failure }) => failure !== undefined);
    return Object.fromEntries(down.map(({ name, failure }) => [name, failure ?? '']));
  }

  #notReadyBecause(): string[] {
    if (this.#drain.isOn) return ['draining'];
    return this.#hasStarted ? [] : ['servers are starting'];
  }

  #snapshot(): Snapshot {
    return {
      servers: this.#backends.map((backend) => ({
        name: backend.name,
        isUp: backend.isUp,
        instances: backend.instances,
        inFlight: backend.inFlight,
        queued: backend.queued,
        traffic: backend.traffic,
      })),
      held: this.#held,
      auditWaiting: this.#access.audit?.waiting ?? 0,
      sessions: this.#sessions.counts(),
      streams: { ...this.#streamTimers.counts(), websocket: this.#http.webSockets },
      connections: this.#http.connections,
    };
  }
}
