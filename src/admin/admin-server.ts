// The admin listener: metrics, liveness, readiness. Never on the public listener (design.md 3.2).
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { OriginGuard } from '../auth/origin-guard.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { AdminOptions } from './options.ts';

/** What the admin listener may look at. */
export interface AdminContext {
  readonly options: AdminOptions;
  readonly metrics: Metrics;
  /** Why the gateway should get no new clients now; empty when it is ready. */
  notReadyBecause(): readonly string[];
}

/** Serves /metrics, /healthz and /readyz. */
export class AdminServer {
  readonly #context: AdminContext;
  readonly #app: FastifyInstance = fastify({ forceCloseConnections: true });

  constructor(context: AdminContext) {
    this.#context = context;
    this.#guardHost();
    this.#app.get('/metrics', async (_request, reply) => {
      const { registry } = context.metrics;
      return reply.type(registry.contentType).send(await registry.metrics());
    });
    this.#app.get('/healthz', () => ({ status: 'ok' }));
    this.#app.get('/readyz', async (_request, reply) => {
      const reasons = context.notReadyBecause();
      const isReady = reasons.length === 0;
      return reply
        .code(isReady ? 200 : 503)
        .send(isReady ? { status: 'ready' } : { status: 'not ready', reasons });
    });
  }

  /**
   * Starts to listen.
   * @returns the address
   */
  async listen(): Promise<string> {
    const { host, port } = this.#context.options;
    await this.#app.listen({ host, port });
    const address = this.#app.server.address() as AddressInfo;
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `http://${name}:${address.port}`;
  }

  async close(): Promise<void> {
    await this.#app.close();
  }

  // A page in a browser must not read metrics through a rebound name; a scraper that was let in
  // from elsewhere names the host as it likes.
  #guardHost(): void {
    const { options } = this.#context;
    if (options.allowRemote) return;
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
