// The admin listener: metrics, liveness, readiness. Never on the public listener
// (docs/operations.md#health).
import { lstatSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { OriginGuard } from '../auth/origin-guard.ts';
import { onNextTurn } from '../base/turns.ts';
import { operatorQuota } from '../http/client-turns.ts';
import { createServer, NO_SCHEMAS } from '../http/light-parts.ts';
import { OpenSockets, type SocketLimits } from '../http/open-sockets.ts';
import { RequestTurns } from '../http/request-turns.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { AdminOptions } from './options.ts';

/** Taken off the mode of a socket: whoever is not its owner. */
const OTHERS = 0o177;

/** Scrapers and probes are few; the descriptors of the process are for others. */
const LIMITS: SocketLimits = {
  connections: 64,
  perAddress: 0,
  unused: 64,
  isShared: () => true,
  scarce: () => undefined,
};
/** Scrapers come again on the same connection. */
const KEEP_ALIVE_MS = 75_000;

/** What the admin listener may look at. */
export interface AdminContext {
  readonly options: AdminOptions;
  readonly metrics: Metrics;
  /** Why the gateway should get no new clients now; empty when it is ready. */
  notReadyBecause(): readonly string[];
  /** Servers that are not there, and why. They make nobody's gateway unready. */
  unavailable(): Readonly<Record<string, string>>;
}

/** Serves /metrics, /healthz and /readyz. */
export class AdminServer {
  readonly #context: AdminContext;
  readonly #app: FastifyInstance = fastify({
    ...NO_SCHEMAS,
    forceCloseConnections: true,
    serverFactory: (handler) =>
      createServer(
        { keepAliveTimeout: KEEP_ALIVE_MS, shouldUpgradeCallback: () => false },
        (request, response) => this.#turns.take(request, response, handler),
      ),
  });
  readonly #sockets: OpenSockets;
  readonly #turns: RequestTurns;
  /** The metrics as they are in this turn of the event loop. */
  #scraped: Promise<string> | undefined;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#guardHost();
    const { server } = this.#app;
    this.#sockets = new OpenSockets(server, false, LIMITS, operatorQuota);
    this.#turns = new RequestTurns(server, this.#sockets, false, (_, socket) => socket.destroy());
    this.#app.get('/metrics', async (_request, reply) => {
      return reply.type(context.metrics.registry.contentType).send(await this.#scrape());
    });
    this.#app.get('/healthz', () => ({ status: 'ok' }));
    this.#app.get('/readyz', async (_request, reply) => {
      const reasons = context.notReadyBecause();
      const isReady = reasons.length === 0;
      const down = context.unavailable();
      return reply.code(isReady ? 200 : 503).send({
        status: isReady ? 'ready' : 'not ready',
        ...(isReady ? {} : { reasons }),
        ...(Object.keys(down).length === 0 ? {} : { unavailable: down }),
      });
    });
  }

  /**
   * Starts to listen.
   * @returns the address
   */
  async listen(): Promise<string> {
    const { host, port, socket } = this.#context.options;
    if (socket !== undefined) return await this.#listenOnSocket(socket);
    await this.#app.listen({ host, port });
    this.#outliveErrors();
    const address = this.#app.server.address() as AddressInfo;
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `http://${name}:${address.port}`;
  }

  // The directory of the socket says who may reach it; its own mode, where the system looks at that.
  async #listenOnSocket(path: string): Promise<string> {
    await removeDeadSocket(path);
    const mask = process.umask(OTHERS);
    try {
      await this.#app.listen({ path });
      this.#outliveErrors();
    } finally {
      process.umask(mask);
    }
    return `unix:${path}`;
  }

  /** A connection that can't be taken, since no descriptor is left, is tried again by whoever made it. */
  #outliveErrors(): void {
    this.#app.server.on('error', () => undefined);
  }

  async close(): Promise<void> {
    // Those too that the HTTP server has let go of.
    this.#sockets.destroyAll();
    await this.#app.close();
  }

  /** One scrape costs some milliseconds, so that all who ask at once are given the same. */
  #scrape(): Promise<string> {
    if (this.#scraped === undefined) {
      this.#scraped = this.#context.metrics.registry.metrics();
      onNextTurn(() => {
        this.#scraped = undefined;
      });
    }
    return this.#scraped;
  }

  // A page in a browser must not read metrics through a rebound name; a scraper that was let in
  // from elsewhere names the host as it likes.
  #guardHost(): void {
    const { options } = this.#context;
    // No page in a browser reaches a socket.
    if (options.allowRemote || options.socket !== undefined) return;
    const guard = new OriginGuard({
      host: options.host,
      allowedHosts: [],
      allowedOrigins: [],
      publicUrl: undefined,
    });
    this.#app.addHook('onRequest', async (request, reply) => {
      const refusal = guard.check(request.raw.rawHeaders);
      if (refusal !== undefined) await reply.code(refusal.status).send(refusal);
    });
  }
}

/** A gateway that was killed leaves its socket behind; one that somebody answers on is not ours. */
async function removeDeadSocket(path: string): Promise<void> {
  const isSocket = lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  if (isSocket && !(await isAnswered(path))) rmSync(path, { force: true });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
}
