// The admin listener: metrics, liveness and readiness. They are never on the public listener
// (docs/operations.md#health).
import { lstatSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { OriginGuard } from '../auth/origin-guard.ts';
import { isLoopbackHost } from '../base/loopback.ts';
import { onNextTurn } from '../base/turns.ts';
import { operatorQuota } from '../http/client-turns.ts';
import { createServer, NO_SCHEMAS } from '../http/light-parts.ts';
import { OpenSockets, type SocketLimits } from '../http/open-sockets.ts';
import { RequestTurns } from '../http/request-turns.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { AdminOptions } from './options.ts';

/** Removed from the mode of a socket, so that only its owner can use it. */
const OTHERS = 0o177;

/** There are few scrapers and probes. Most file descriptors are for clients and servers. */
const LIMITS: SocketLimits = {
  connections: 64,
  perAddress: 0,
  unused: 64,
  isShared: () => true,
  scarce: () => undefined,
};
const JSON_TYPE = /^application\/json(?: ?;|$)/i;

/** What is answered to who may not do something, or not so. */
function refused(status: number, why: string): AdminRefusal {
  return { status, outcome: 'refused', errors: [why] };
}

interface AdminRefusal {
  readonly status: number;
  readonly outcome?: 'refused';
  readonly errors?: readonly string[];
}

const NOT_LOCAL = refused(403, 'actions are taken from this machine only');
const NOT_JSON = refused(415, 'an action needs Content-Type: application/json');
const NO_FILE = refused(409, 'there is no configuration file to read again');

/** Scrapers use the same connection again. */
const KEEP_ALIVE_MS = 75_000;

/** What the admin listener needs. */
export interface AdminContext {
  readonly options: AdminOptions;
  readonly metrics: Metrics;
  /** Why the gateway should get no new clients now; empty if it is ready. */
  notReadyBecause(): readonly string[];
  /** Reads the configuration again; undefined where there is no file. */
  reload(): Promise<ActionOutcome> | undefined;
  /** Servers that are down, with reasons. They don't make the gateway unready. */
  unavailable(): Readonly<Record<string, string>>;
}

/** What an action came to, as its caller reads it. */
export interface ActionOutcome {
  readonly outcome: 'ok' | 'refused';
}

/** Serves /metrics, /healthz and /readyz, and takes /reload. */
export class AdminServer {
  readonly #context: AdminContext;
  readonly #guard: OriginGuard;
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
  /** The metrics of the current turn of the event loop. */
  #scraped: Promise<string> | undefined;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#guard = new OriginGuard({
      host: context.options.host,
      allowedHosts: [],
      allowedOrigins: [],
      publicUrl: undefined,
    });
    this.#guardHost();
    const { server } = this.#app;
    this.#sockets = new OpenSockets(server, false, LIMITS, operatorQuota);
    this.#turns = new RequestTurns(server, this.#sockets, false, (_, socket) => socket.destroy());
    this.#takeActions();
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

  /** What changes something is for this machine alone, whoever may read. */
  #takeActions(): void {
    this.#app.removeAllContentTypeParsers();
    // What is in a body does not matter: a page in a browser can't send one of this type unasked.
    this.#app.addContentTypeParser('*', (_request, payload, done) => {
      payload.resume();
      done(null);
    });
    this.#app.post('/reload', async ({ raw }, reply) => {
      const refusal = this.#refusalOf(raw);
      if (refusal !== undefined) return await reply.code(refusal.status).send(refusal);
      const outcome = await this.#context.reload();
      if (outcome === undefined) return await reply.code(NO_FILE.status).send(NO_FILE);
      return await reply.code(outcome.outcome === 'ok' ? 200 : 422).send(outcome);
    });
  }

  #refusalOf({ headers, rawHeaders, socket }: IncomingMessage): AdminRefusal | undefined {
    const isSocket = this.#context.options.socket !== undefined;
    if (!isSocket && !isLoopbackHost(socket.remoteAddress ?? '')) return NOT_LOCAL;
    if (!JSON_TYPE.test(headers['content-type'] ?? '')) return NOT_JSON;
    return isSocket ? undefined : this.#guard.check(rawHeaders);
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

  // The directory of the socket decides who can reach it, and on some systems also its own mode.
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

  /** When no file descriptor is left, a connection can't be accepted. Its client will try again. */
  #outliveErrors(): void {
    this.#app.server.on('error', () => undefined);
  }

  async close(): Promise<void> {
    // Also connections that are detached from the HTTP server.
    this.#sockets.destroyAll();
    await this.#app.close();
  }

  /** A scrape takes some milliseconds, so simultaneous scrapes share one result. */
  #scrape(): Promise<string> {
    if (this.#scraped === undefined) {
      this.#scraped = this.#context.metrics.registry.metrics();
      onNextTurn(() => {
        this.#scraped = undefined;
      });
    }
    return this.#scraped;
  }

  // A web page must not read metrics through DNS rebinding. With `allowRemote`, scrapers may use any host
  // name.
  #guardHost(): void {
    const { options } = this.#context;
    // Web pages can't reach a socket.
    if (options.allowRemote || options.socket !== undefined) return;
    this.#app.addHook('onRequest', async (request, reply) => {
      const refusal = this.#guard.check(request.raw.rawHeaders);
      if (refusal !== undefined) await reply.code(refusal.status).send(refusal);
    });
  }
}

/** A gateway that was killed leaves its socket file. If another process answers on it, it is in use. */
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
