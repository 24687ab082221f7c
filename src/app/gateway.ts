// Builds all parts and connects them by their ports. Only this folder knows all others.

import { type ActionOutcome, AdminServer } from '../admin/admin-server.ts';
import { within } from '../base/clock.ts';
import { Drain, drained } from '../base/drain.ts';
import { UserFileError } from '../base/errors.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { isSameValue } from '../base/same-value.ts';
import { AllLists } from '../catalog/all-lists.ts';
import { type Lock, lockFileOf, readLockFile } from '../catalog/pins/lock-file.ts';
import { Pins } from '../catalog/pins/pins.ts';
import { ArgumentValidators } from '../catalog/validation/argument-validators.ts';
import type { Config } from '../config/config.ts';
import { servesItsOwner } from '../config/exposure.ts';
import type { ListenerContext } from '../listener/context.ts';
import { HttpServer } from '../listener/http-server.ts';
import { StreamTimers } from '../listener/stream-timers.ts';
import type { Logger } from '../observe/logger.ts';
import { MessageLog } from '../observe/message-log.ts';
import { Metrics, type Snapshot } from '../observe/metrics.ts';
import { ModernRequests } from '../session/modern-requests.ts';
import { createModernState, type ModernState } from '../translate/modern-dispatcher.ts';
import { channelOpener, logged } from '../upstream/kinds.ts';
import { ProcessBudget } from '../upstream/process-budget.ts';
import type { FirstStarts } from '../upstream/restarts.ts';
import type { CommonOptions } from '../upstream/server-context.ts';
import type { Environment } from '../upstream/stdio/environment.ts';
import { ClientAccess } from './access.ts';
import type { KeptData } from './data.ts';
import type { EndpointParts } from './endpoints.ts';
import { createHeldBytes } from './held.ts';
import { listenForAdmin, listenPublicly } from './listen-error.ts';
import { Servers } from './servers.ts';
import { Serving } from './serving.ts';

/** How long the end of everything that is left after the drain may take. */
const CLOSE_LIMIT_MS = 15_000;
/** How long servers may take to start before the gateway is ready without them. */
const START_LIMIT_MS = 5_000;

/** A whole gateway. */
export class Gateway {
  #config: Config;
  readonly #logger: Logger;
  readonly #gatewayVersion: string;
  readonly #drain = new Drain();
  readonly #metrics: Metrics;
  readonly #held: HeldBytes;
  readonly #budget: ProcessBudget;
  readonly #servers: Servers;
  readonly #serving: Serving;
  readonly #access: ClientAccess;
  readonly #streamTimers: StreamTimers;
  readonly #modernRequests = new ModernRequests();
  readonly #lists: AllLists;
  readonly #modern: ModernState;
  readonly #validators = new ArgumentValidators();
  readonly #messages: MessageLog | undefined;
  readonly #http: HttpServer;
  readonly #admin: AdminServer;
  #lock: Lock;
  #pins: Pins;
  #hasStarted = false;
  #opening: Promise<void> | undefined;

  constructor(
    config: Config,
    parts: {
      logger: Logger;
      version: string;
      environment: Environment;
      data: Pick<KeptData, 'sessionKeys' | 'stateKeys' | 'sessions'>;
      /** Texts that must not be logged. */
      secrets: ReadonlySet<string>;
      firstStarts?: FirstStarts | undefined;
      /** Reads the configuration again; absent, or undefined, where there is no file. */
      reload?: () => Promise<ActionOutcome> | undefined;
    },
  ) {
    const { logger, environment } = parts;
    this.#config = config;
    this.#logger = logger;
    this.#gatewayVersion = parts.version;
    this.#metrics = new Metrics({ version: parts.version, node: process.version });
    this.#held = createHeldBytes(config, this.#metrics);
    this.#lists = new AllLists(logger, this.#held);
    const state = { ...config.state, keys: parts.data.stateKeys };
    this.#modern = createModernState(state, this.#lists, this.#held);
    this.#messages = config.log.messages ? new MessageLog(logger, parts.secrets) : undefined;
    this.#budget = new ProcessBudget(config.processes);
    this.#lock = lockOf(config);
    this.#pins = new Pins(this.#lock);
    this.#servers = this.#createServers(environment, parts.firstStarts);
    this.#access = new ClientAccess(config, this.#modern.suspendedCalls, {
      logger,
      metrics: this.#metrics,
      held: this.#held,
      environment,
      drain: this.#drain,
      data: parts.data,
    });
    this.#streamTimers = new StreamTimers(this.#access.openStreams, () => this.#access.sweep());
    this.#serving = new Serving(config, {
      servers: this.#servers,
      sessions: this.#access.sessions,
      watchers: this.#access.watchers,
      drain: this.#drain,
      metrics: this.#metrics,
      logger,
      endpointParts: () => this.#endpointParts,
      replaced: ({ name }) => this.#modern.listens.endAt(name),
      ended: (served) => this.#http.endOf(served),
      forgotten: (server) => {
        this.#lists.forget(server);
        void this.#metrics.forgetServer(server);
      },
    });
    this.#http = new HttpServer(this.#listenerContext, this.#serving.paths);
    this.#admin = new AdminServer({
      options: config.admin,
      metrics: this.#metrics,
      notReadyBecause: () => this.#notReadyBecause(),
      unavailable: () => this.#servers.unavailable,
      reload: () => parts.reload?.(),
    });
    this.#metrics.observe(() => this.#snapshot());
  }

  /**
   * Opens the listeners and starts the servers. Resolves when each server had its first attempt, after 5 s in
   * any case, or when the gateway is stopped.
   * @throws if it can't listen on an address
   */
  async start(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
    if (this.#drain.isOn) return;
    await within(START_LIMIT_MS, this.#servers.start());
    if (this.#drain.isOn) return;
    this.#hasStarted = true;
    const { unavailable } = this.#servers;
    this.#logger.info(Object.keys(unavailable).length === 0 ? {} : { unavailable }, 'ready');
  }

  /**
   * Lets calls in flight finish, then ends everything. Until then it accepts what these calls need: answers
   * to server requests, cancellations, the next round. Everything else is refused. Nothing is left when it
   * resolves.
   */
  async stop(): Promise<void> {
    this.#drain.begin();
    // A listener that is being opened can't be closed yet.
    await this.#opening?.catch(() => undefined);
    this.#http.drain();
    this.#modern.listens.end();
    const isBusy = (): boolean => this.#pending > 0 || this.#http.hasUnsent;
    await drained(isBusy, this.#config.drain);
    const left = this.#pending;
    if (left > 0) this.#logger.warn({ left }, 'drain took too long, calls in flight fail');
    await within(CLOSE_LIMIT_MS, this.#closeAll());
  }

  /** Writes waiting data to the disk now, for a process that ends at once. */
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

  /** The number of calls without an answer, including suspended ones. */
  get #pending(): number {
    return (
      this.#access.sessions.pending +
      this.#modernRequests.pending +
      this.#modern.suspendedCalls.size
    );
  }

  async #closeAll(): Promise<void> {
    // Servers first, so that calls in flight get their error before their streams end.
    const servers = this.#servers.close('draining');
    this.#modern.suspendedCalls.close();
    this.#modern.tasks.table.close();
    this.#access.sessions.close();
    this.#modernRequests.close();
    this.#streamTimers.close();
    await this.#http.close();
    await servers;
    await this.#validators.close();
    await this.#admin.close();
    await this.#access.audit?.close();
  }

  /**
   * Goes on with another configuration. Resolves when its servers had their first attempt and sessions have moved.
   * @param config with those options of the first one that only a start can change
   * @throws UserFileError when what it names can't be used; then nothing has changed
   */
  async change(config: Config, secrets: ReadonlySet<string>): Promise<void> {
    if (this.#drain.isOn) throw new UserFileError('the gateway is stopping');
    const lock = lockOf(config);
    const admit = this.#access.prepare(config);
    if (!isSameValue(lock, this.#lock)) this.#pins = new Pins(lock);
    this.#lock = lock;
    this.#config = config;
    this.#messages?.mask(secrets);
    this.#budget.obey(config.processes);
    admit();
    const changed = this.#serving.change(config);
    this.#access.sweepRights();
    await changed;
  }

  /** Counts a reload. */
  noteReload(outcome: string): void {
    this.#metrics.configReloads.inc({ outcome });
  }

  #createServers(environment: Environment, firstStarts: FirstStarts | undefined): Servers {
    const { servers } = this.#config;
    const logger = this.#logger;
    const plain = channelOpener(environment, { servers, logger });
    const now = (): Config => this.#config;
    const common: CommonOptions = {
      get sessionIdleMs() {
        return now().sessions.idle;
      },
      get exposesDetails() {
        return servesItsOwner(now());
      },
    };
    return new Servers({
      budget: this.#budget,
      logger,
      metrics: this.#metrics,
      held: this.#held,
      openChannel: this.#messages === undefined ? plain : logged(plain, this.#messages),
      gatewayVersion: this.#gatewayVersion,
      common,
      firstStarts,
    });
  }

  get #listenerContext(): ListenerContext {
    const { gatekeeper, openStreams, memoryPressure, bodies, sessions } = this.#access;
    return {
      messages: this.#messages,
      gatekeeper,
      openStreams,
      memoryPressure,
      bodies,
      held: this.#held,
      options: this.#config.listen,
      sessions,
      modern: this.#modernRequests,
      streamTimers: this.#streamTimers,
      logger: this.#logger,
      metrics: this.#metrics,
      drain: this.#drain,
    };
  }

  get #endpointParts(): EndpointParts {
    const { gatekeeper } = this.#access;
    return {
      policy: gatekeeper.isOn ? gatekeeper.policy : undefined,
      state: this.#modern,
      lists: this.#lists,
      validators: this.#validators,
      pins: this.#pins,
      logger: this.#logger,
      gatewayVersion: this.#gatewayVersion,
    };
  }

  #notReadyBecause(): string[] {
    if (this.#drain.isOn) return ['draining'];
    return this.#hasStarted ? [] : ['servers are starting'];
  }

  #snapshot(): Snapshot {
    return {
      servers: this.#servers.snapshot,
      held: this.#held,
      auditWaiting: this.#access.audit?.waiting ?? 0,
      sessions: this.#access.sessions.counts(),
      streams: { ...this.#streamTimers.counts(), websocket: this.#http.webSockets },
      connections: this.#http.connections,
    };
  }
}

/** The tools that were accepted, of a configuration that has a file. */
function lockOf({ file }: Config): Lock {
  return file === undefined ? new Map() : readLockFile(lockFileOf(file));
}
