// One gateway in one process, from sessions down to the channel of a server, with clients and servers
// that do as a script says. Sockets and child processes are all that is missing.
import { vi } from 'vitest';
import { AllLists } from '../../../src/catalog/all-lists.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import { DirectEndpoint } from '../../../src/router/direct-endpoint.ts';
import { ServedEndpoint } from '../../../src/session/served-endpoint.ts';
import { SessionStore } from '../../../src/session/session-store.ts';
import { createModernState } from '../../../src/translate/modern-dispatcher.ts';
import { ServerBackend } from '../../../src/upstream/backend.ts';
import type { ServerOptions } from '../../../src/upstream/options.ts';
import { ProcessBudget } from '../../../src/upstream/process-budget.ts';
import { ScriptedChannel } from './scripted-channel.ts';
import { ChannelClient, HttpClient, type Place, type ScriptedClient } from './scripted-client.ts';
import { fail } from './wire.ts';

/** What a run is made of. */
export interface Setting {
  /** The principal of each client. */
  readonly principals: readonly string[];
  readonly transport: 'channel' | 'http' | 'mixed';
  readonly sharing: 'shared' | 'principal';
  readonly replicas: number;
}

/** What happens next, and to whom or how. */
export type Step = readonly [keyof typeof ACTIONS, number];

const logger = createLogger({ level: 'fatal', messages: false });
const metrics = new Metrics({ version: '0', node: '0' });

const OPTIONS: Omit<ServerOptions, 'sharing' | 'replicas'> = {
  name: 'scripted',
  protocol: 'mcp',
  target: {
    kind: 'stdio',
    framing: 'newline',
    command: 'scripted',
    args: [],
    env: {},
    envTemplates: {},
    inheritEnv: [],
    cwd: '/',
    runAs: undefined,
    wrap: [],
    resources: {},
  },
  start: 'eager',
  roots: [],
  era: 'legacy',
  timeouts: {
    start: 30_000,
    request: 60_000,
    requestMax: 120_000,
    queue: 60_000,
    idle: 0,
    stop: 1_000,
  },
  limits: { inFlight: 6, queue: 64, message: 1_000_000 },
};

/** Lets promises run; timers stand still meanwhile. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** A gateway with its clients and servers. */
export class Simulation {
  readonly #setting: Setting;
  readonly #servers: ScriptedChannel[] = [];
  readonly #backend: ServerBackend;
  readonly #sessions = new SessionStore({ idle: 3_600_000, max: 100, maxInFlight: 64 });
  readonly #acquire: Place;
  readonly #principals = new Map<string, string>();
  /** Who sits there now, or did last. */
  readonly #leases: ScriptedClient[] = [];
  readonly #everybody: ScriptedClient[] = [];
  #names = 0;

  constructor(setting: Setting) {
    this.#setting = setting;
    const { sharing, replicas } = setting;
    this.#backend = new ServerBackend(
      { ...OPTIONS, sharing, replicas: sharing === 'shared' ? replicas : 1 },
      {
        budget: new ProcessBudget({ max: 64, maxPerPrincipal: 8, maxStarting: 4 }),
        logger,
        metrics,
        gatewayVersion: '0',
        common: { sessionIdleMs: 3_600_000, exposesDetails: true },
        openChannel: (_, { events }) => this.#openServer(new ScriptedChannel(events)),
      },
    );
    this.#acquire = {
      served: new ServedEndpoint(
        new DirectEndpoint(
          '/',
          this.#backend,
          createModernState({ keys: [], ttl: 600_000 }, new AllLists(logger)),
        ),
        metrics,
      ),
      sessions: this.#sessions,
    };
  }

  get servers(): readonly ScriptedChannel[] {
    return this.#servers.filter(({ isAlive }) => isAlive);
  }

  get clients(): readonly ScriptedClient[] {
    return this.#leases;
  }

  /** Everybody who ever was. */
  get everybody(): readonly ScriptedClient[] {
    return this.#everybody;
  }

  async start(): Promise<void> {
    await this.#backend.start();
    for (const [at] of this.#setting.principals.entries()) await this.join(at);
  }

  /** Gives a new client an open stream. */
  async join(at: number): Promise<void> {
    const { principals, transport } = this.#setting;
    const principal = principals[at] ?? fail('no such seat');
    const letter = String.fromCharCode(65 + at);
    const name = `${letter}${this.#names++}`;
    this.#principals.set(name, principal);
    const isChannel = transport === 'mixed' ? at % 2 === 0 : transport === 'channel';
    const options = {
      name,
      principal,
      transport: isChannel ? ('channel' as const) : ('http' as const),
      hasStreams: this.#names % 3 !== 0,
      principals: this.#principals,
    };
    const client = isChannel ? new ChannelClient(options) : new HttpClient(options);
    this.#leases[at] = client;
    this.#everybody.push(client);
    void client.join(this.#acquire);
    await settle();
  }

  async act([action, nth]: Step): Promise<void> {
    await ACTIONS[action](this, nth);
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
    await settle();
  }

  /** Brings everything to its end and checks that nothing is missing and nothing is left. */
  async finish(): Promise<void> {
    await this.#untilQuiet(() => this.#talk());
    // Longer than a server request is held: what the server was owed, it has.
    await this.pass(11_000);
    await this.#untilQuiet(() => this.#talk());
    for (const server of this.servers) {
      const [owed] = server.owed;
      if (owed !== undefined) fail('a question was lost', owed);
    }
    await this.#untilQuiet(() => this.#talk() || this.#answerAll());
    const unanswered = this.#everybody.flatMap(({ open }) => open);
    if (unanswered.length > 0) fail('calls without an answer', unanswered);
    if (this.#backend.inFlight + this.#backend.queued > 0) fail('calls are left');
    if (this.#sessions.pending > 0) fail('a session has something open');
    this.#sessions.close();
    await this.#backend.close('draining');
    await settle();
    if (vi.getTimerCount() > 0) fail('timers are left', vi.getTimerCount());
  }

  /** One round of everything that both ends do by themselves. */
  #talk(): boolean {
    let hasMoved = false;
    for (const server of this.servers) {
      if (!server.isWritable) server.resume();
      while (server.deliver() || server.take()) hasMoved = true;
    }
    for (const client of this.#leases) {
      while (client.openServerRequests > 0) {
        client.reply(1);
        hasMoved = true;
      }
    }
    return hasMoved;
  }

  #answerAll(): boolean {
    const jobs = this.servers.flatMap((server) =>
      [...server.jobs.values()].map((job) => ({ server, job })),
    );
    for (const { server, job } of jobs) server.answer(job, true);
    return jobs.length > 0;
  }

  async #untilQuiet(move: () => boolean): Promise<void> {
    for (let quiet = 0, rounds = 0; quiet < 3; rounds++) {
      if (rounds > 500) fail('no end');
      if (move()) quiet = 0;
      else {
        quiet++;
        // Restarts are due after a while.
        await this.pass(2_000);
      }
    }
  }

  #openServer(server: ScriptedChannel): ScriptedChannel {
    this.#servers.push(server);
    server.cancelled = (secret) => this.#checkCancel(secret);
    return server;
  }

  #checkCancel(secret: string): void {
    const calls = this.#everybody.flatMap((client) => client.calls);
    const call = calls.find((one) => one.secret === secret);
    if (call?.isCancelled !== true) fail('a call was cancelled that its caller wants', secret);
  }
}

function pick<T>(list: readonly T[], nth: number): T | undefined {
  return list[nth % list.length];
}

/** Does something with one of the servers. */
function atServer(act: (server: ScriptedChannel, nth: number) => void) {
  return (simulation: Simulation, nth: number): void => {
    const server = pick(simulation.servers, nth);
    if (server !== undefined) act(server, nth >> 2);
  };
}

/** Does something with one of the calls that a server works on. */
function atJob(
  act: (server: ScriptedChannel, job: NonNullable<ReturnType<typeof jobOf>>, nth: number) => void,
) {
  return atServer((server, nth) => {
    const job = jobOf(server, nth);
    if (job !== undefined) act(server, job, nth >> 3);
  });
}

function jobOf(server: ScriptedChannel, nth: number) {
  return pick([...server.jobs.values()], nth);
}

function atClient(act: (client: ScriptedClient, nth: number) => void) {
  return (simulation: Simulation, nth: number): void => {
    const client = pick(simulation.clients, nth);
    if (client !== undefined && !client.isGone) act(client, nth >> 2);
  };
}

/** Everything that can happen. */
export const ACTIONS = {
  call: atClient((client, nth) => client.call(nth)),
  cancel: atClient((client, nth) => client.cancel(nth)),
  reply: atClient((client, nth) => client.reply(nth)),
  replyToOthers: atClient((client, nth) => client.replyToOthers(nth)),
  take: atServer((server) => void server.take()),
  deliver: atServer((server) => void server.deliver()),
  progress: atJob((server, job) => server.progress(job)),
  log: atJob((server, job) => server.log(job)),
  elicit: atJob((server, job) => server.ask(job, 'elicitation/create')),
  sample: atJob((server, job) => server.ask(job, 'sampling/createMessage')),
  answer: atJob((server, job, nth) => server.answer(job, nth % 4 !== 0)),
  takeBack: atServer((server, nth) => server.takeBack(nth)),
  babble: atServer((server, nth) => server.babble(nth)),
  ping: atServer((server) => server.ping()),
  stall: atServer((server) => server.stall()),
  resume: atServer((server) => server.resume()),
  die: async (simulation: Simulation, nth: number): Promise<void> => {
    pick(simulation.servers, nth)?.die(nth % 2 === 0);
    await simulation.pass(0);
  },
  leave: async (simulation: Simulation, nth: number): Promise<void> => {
    const client = pick(simulation.clients, nth);
    if (client?.isGone === false) client.leave();
    await simulation.pass(0);
  },
  join: async (simulation: Simulation, nth: number): Promise<void> => {
    const at = nth % simulation.clients.length;
    if (simulation.clients[at]?.isGone === true) await simulation.join(at);
  },
  wait: (simulation: Simulation, nth: number): Promise<void> => simulation.pass(10 << (nth % 4)),
} as const;
