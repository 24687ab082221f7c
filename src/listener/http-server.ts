// The public listener: one fastify instance, its limits, and the first checks: Host, Origin, target and type,
// then the path, then authentication. Only the path table decides where a request goes.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { asGatewayError } from '../base/errors.ts';
import type { TurnQuota } from '../base/turns.ts';
import type { WatchedFiles } from '../base/watched-files.ts';
import { PrincipalTurns } from '../http/client-turns.ts';
import { NO_SCHEMAS } from '../http/light-parts.ts';
import { OpenSockets, type SocketLimits } from '../http/open-sockets.ts';
import { RequestTurns, serveInTurn } from '../http/request-turns.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { REFUSED } from '../mcp/errors.ts';
import type { Principal } from '../ports/principal.ts';
import type { ServedEndpoint } from '../session/served-endpoint.ts';
import { type ListenerContext, noteMessage } from './context.ts';
import { allowOrigin, answerPreflight } from './cors.ts';
import { notFound, REFUSALS, type Refusal, refuse, sendJson } from './error-response.ts';
import { type AccessDecision, tooManyRequests } from './gatekeeper.ts';
import { HTTP_BOUNDS, type HttpBounds } from './http-bounds.ts';
import { SseStreams } from './http-sse/routes.ts';
import { createNodeServer, listenBeside } from './node-server.ts';
import type { PathKind, PathTable, Route } from './paths.ts';
import { PlainPosts } from './plain-post.ts';
import { BodyFailure } from './request-body.ts';
import { HeadGuard, hasJsonBody } from './request-head.ts';
import { socketLimits } from './socket-limits.ts';
import { servePost } from './streamable-http/post.ts';
import { type HttpCall, headerOf, serveDelete, serveGet } from './streamable-http/routes.ts';
import { reloadTls } from './tls-files.ts';
import { refuseUpgrade, WebSockets } from './websocket/upgrade.ts';

const TICKETS_WAIT_MS = 30_000;

const NO_STORE = { 'cache-control': 'no-store' };
/** Metadata for clients of authorization servers; the only documents that every page may read. */
const METADATA = '/.well-known/';
const READABLE = { 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' };

/** A request that was accepted. */
interface AdmittedRequest {
  readonly route: Route;
  readonly principal: Principal;
  /** What its client may cost in a turn, if the request is not counted yet. */
  readonly quota: TurnQuota | undefined;
}

/** A request that is not accepted yet. */
interface IncomingRequest extends IncomingMessage {
  admitted?: AdmittedRequest;
}

/** The listener for clients. */
export class HttpServer {
  readonly #context: ListenerContext;
  readonly #paths: PathTable;
  readonly #guard: HeadGuard;
  readonly #app: FastifyInstance;
  readonly #sse: SseStreams;
  readonly #plain: PlainPosts;
  readonly #webSockets: WebSockets;
  readonly #limits: SocketLimits;
  readonly #sockets: OpenSockets;
  readonly #turns: RequestTurns;
  readonly #principals = new PrincipalTurns();
  #beside: readonly TcpServer[] = [];
  #tlsFiles: WatchedFiles | undefined;

  constructor(context: ListenerContext, paths: PathTable, bounds: HttpBounds = HTTP_BOUNDS) {
    this.#context = context;
    this.#paths = paths;
    this.#guard = new HeadGuard(context.options, context.logger);
    this.#sse = new SseStreams(context);
    this.#plain = new PlainPosts(context);
    this.#webSockets = new WebSockets(context);
    this.#app = this.#createApp(bounds);
    const isSecure = context.options.tls !== undefined;
    const { server } = this.#app;
    this.#limits = socketLimits(context, bounds.connections);
    this.#sockets = new OpenSockets(server, isSecure, this.#limits);
    this.#turns = new RequestTurns(
      server,
      this.#sockets,
      isSecure,
      (request, socket, head) => this.#onUpgrade(request, socket, head),
      context.held,
    );
  }

  /** Number of open WebSockets. */
  get webSockets(): number {
    return this.#webSockets.size;
  }

  /** Number of open connections, and their limit. */
  get connections(): { readonly open: number; readonly limit: number } {
    return { open: this.#sockets.size, limit: this.#limits.connections };
  }

  /**
   * Starts to listen.
   * @returns the address, such as `http://127.0.0.1:8080`
   * @throws if it can't listen on the address
   */
  async listen(): Promise<string> {
    const { host, port, tls } = this.#context.options;
    this.#context.gatekeeper.open();
    await this.#app.listen({ host, port });
    this.#beside = await listenBeside(this.#app.server, host, this.#context.logger);
    if (tls !== undefined) {
      const server = this.#app.server as unknown as SecureServer;
      this.#tlsFiles = reloadTls(tls, server, this.#context.logger, () => {
        this.#sockets.endCertified();
      });
    }
    const address = this.#app.server.address() as AddressInfo;
    const scheme = tls === undefined ? 'http' : 'https';
    this.#guard.allowOwnPort(scheme, address.port);
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `${scheme}://${name}:${address.port}`;
  }

  /** Ends what clients still hold open of an endpoint. */
  endOf(served: ServedEndpoint): void {
    this.#sse.endOf(served);
    this.#plain.endOf(served);
    this.#webSockets.endOf(served);
  }

  /**
   * The gateway stops: closes unused connections. New ones are still accepted, because calls in flight may
   * need them.
   */
  drain(): void {
    // Node treats a connection whose answer was not sent completely as idle.
    if (!this.hasUnsent) this.#app.server.closeIdleConnections();
  }

  /** Whether any output waits for a client. */
  get hasUnsent(): boolean {
    return this.#sockets.hasUnsent;
  }

  /** Closes every connection. Clients get a moment to read the last output. */
  async close(): Promise<void> {
    this.#tlsFiles?.close();
    this.#context.gatekeeper.close();
    this.#context.memoryPressure.close();
    this.#sse.close();
    this.#webSockets.close();
    for (const server of this.#beside) server.close();
    await this.#sockets.sent();
    this.#app.server.closeAllConnections();
    this.#sockets.destroyAll();
    await this.#app.close();
  }

  #createApp(bounds: HttpBounds): FastifyInstance {
    const { options } = this.#context;
    const app = fastify({
      ...NO_SCHEMAS,
      serverFactory: (handler) => {
        const takeIn: RequestListener = (request, response) => {
          try {
            this.#takeIn(request, response, handler);
          } catch (error) {
            this.#onError(error, response);
          }
        };
        return createNodeServer(bounds, options.tls, (request, response) =>
          this.#turns.take(request, response, takeIn),
        );
      },
      exposeHeadRoutes: false,
      frameworkErrors: (error, _request, reply) => {
        reply.hijack();
        this.#onError(error, reply.raw);
      },
    });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', ({ raw }, payload, done) => {
      const { admitted } = raw as IncomingRequest;
      if (admitted === undefined) done(null, undefined);
      else this.#context.bodies.read(payload, admitted.principal, done);
    });
    app.setErrorHandler((error: FastifyError, _request, reply) => {
      reply.hijack();
      this.#onError(error, reply.raw);
    });
    app.all('*', (request, reply) => {
      reply.hijack();
      const { raw, body } = request;
      const { admitted } = raw as IncomingRequest;
      if (admitted === undefined) {
        refuse(reply.raw, REFUSALS.notFound);
        return;
      }
      // The credentials may have expired while the body arrived.
      const late = this.#context.gatekeeper.recheck(raw, admitted.route, admitted.principal);
      if (late !== undefined) refuse(reply.raw, late);
      else if (admitted.quota === undefined) this.#serveSafely(admitted, raw, reply.raw, body);
      else
        serveInTurn(admitted.quota, raw, reply.raw, () =>
          this.#serveSafely(admitted, raw, reply.raw, body),
        );
    });
    return app;
  }

  /**
   * Everything that is decided before any of the body is read, and before objects are made for the request:
   * refusing must cost less than serving.
   */
  #takeIn(request: IncomingRequest, response: ServerResponse, serve: RequestListener): void {
    if (this.#context.drain.isOn) response.shouldKeepAlive = false;
    if (!this.#isHarmless(request, response)) return;
    const route = this.#find(request);
    if (route === undefined && this.#answerOther(request, response)) return;
    if (this.#context.memoryPressure.isHigh && request.method !== 'DELETE') {
      this.#reject(response, REFUSALS.shedding);
      return;
    }
    const proceed = (decision: AccessDecision): void => {
      const refusal = this.#refusalOf(decision, 'mcp');
      const principal = 'principal' in decision ? decision.principal : undefined;
      const quota = this.#turns.assign(request, this.#principals.of(principal), principal);
      if (refusal !== undefined) this.#reject(response, refusal);
      if (refusal?.status === REFUSALS.tooManyRequests.status) this.#turns.rest(request, response);
      if (route === undefined || principal === undefined) return;
      request.admitted = { route, principal, quota };
      serve(request, response);
    };
    const decision = this.#context.gatekeeper.admit(request, route);
    if (!(decision instanceof Promise)) proceed(decision);
    else decision.then(proceed).catch((error: unknown) => this.#onError(error, response));
  }

  /** Checks Host, Origin, target and Content-Type. */
  #isHarmless(request: IncomingMessage, response: ServerResponse): boolean {
    const isPublic = request.url?.startsWith(METADATA) === true;
    const refusal = this.#guard.check(request, isPublic);
    if (refusal !== undefined) {
      this.#reject(response, refusal);
      return false;
    }
    if (isPublic) return true;
    const origin = headerOf(request, 'origin');
    if (origin !== undefined) allowOrigin(response, origin);
    if (request.method === 'OPTIONS') {
      answerPreflight(request, response);
      return false;
    }
    if (request.method === 'POST' && !hasJsonBody(request)) {
      this.#reject(response, REFUSALS.contentType);
      return false;
    }
    return true;
  }

  #reject(response: ServerResponse, refusal: Refusal, reason = `http_${refusal.status}`): void {
    this.#context.metrics.rejected.inc({ reason });
    refuse(response, refusal);
  }

  #find(request: IncomingMessage): Route | undefined {
    const route = this.#paths.find(request.url ?? '/');
    return route?.kind === 'tickets' && !this.#context.gatekeeper.isOn ? undefined : route;
  }

  /** @param kind the kind of path that the client uses */
  #refusalOf(decision: AccessDecision, kind: PathKind): Refusal | undefined {
    if ('refusal' in decision) return decision.refusal;
    return 'nothingFor' in decision ? this.#notFound(kind, decision.nothingFor) : undefined;
  }

  /** A 404 with the paths that exist for this client. */
  #notFound(kind: PathKind, principal?: Principal): Refusal {
    const { gatekeeper } = this.#context;
    const routes = this.#paths.all(kind).filter((route) => gatekeeper.opens(route, principal));
    return notFound(routes.map(({ path }) => path));
  }

  /** An exception ends only this request. */
  #serveSafely(
    admitted: AdmittedRequest,
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): void {
    try {
      this.#serve(admitted, request, response, body);
    } catch (error) {
      admitted.route.served.meter.failed(asGatewayError(error));
      if (response.headersSent) response.destroy();
      else refuse(response, REFUSALS.internal);
    }
  }

  #serve(
    { route, principal }: AdmittedRequest,
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): void {
    const quota = this.#turns.quotaOf(request);
    const call: HttpCall = { request, response, principal, route, quota };
    if (Buffer.isBuffer(body)) this.#turns.spend(request, body.length);
    if (request.method === 'POST') this.#servePost(route, call, body);
    else if (route.kind === 'mcp') this.#serveMcp(route, call);
    else if (route.kind === 'sse' && request.method === 'GET') {
      this.#sse.open(route.served, call, route.messagesPath);
    } else refuse(response, REFUSALS.method);
  }

  #servePost(route: Route, call: HttpCall, body: unknown): void {
    if (route.kind === 'tickets') {
      this.#serveTicket(route, call);
      return;
    }
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    noteMessage(this.#context, route.served, bytes);
    if (route.kind === 'messages') this.#sse.post(route.served, call, bytes);
    else if (route.kind !== 'mcp') refuse(call.response, REFUSALS.method);
    else if (route.served.endpoint.protocol === 'jsonrpc') {
      void this.#plain.post(route.served, call, bytes);
    } else servePost(this.#context, route.served, call, bytes);
  }

  #serveMcp(route: Route, call: HttpCall): void {
    const isMcp = route.served.endpoint.protocol === 'mcp';
    if (isMcp && call.request.method === 'GET') serveGet(this.#context, route.served, call);
    else if (isMcp && call.request.method === 'DELETE') {
      serveDelete(this.#context, route.served, call);
    } else refuse(call.response, REFUSALS.method);
  }

  #serveTicket(route: Route, { response, principal }: HttpCall): void {
    const ticket = this.#context.gatekeeper.issueTicket(principal, route);
    if (ticket === undefined) refuse(response, tooManyRequests(TICKETS_WAIT_MS));
    else sendJson(response, 200, jsonBytes(ticket), NO_STORE);
  }

  /**
   * Answers a request for a path without an endpoint: with a metadata document or a 404.
   * @returns false if the client must authenticate first, so that the path looks like that of an endpoint
   */
  #answerOther(request: IncomingMessage, response: ServerResponse): boolean {
    const { gatekeeper } = this.#context;
    const isRead = request.method === 'GET' || request.method === 'OPTIONS';
    const document = isRead
      ? gatekeeper.metadata(request.url ?? '/', (path) => this.#paths.find(path))
      : undefined;
    if (document !== undefined) {
      sendJson(response, 200, jsonBytes(document), READABLE);
      return true;
    }
    // Clients look for several documents before they log in, and continue after a 404.
    const isPublic = request.url?.startsWith(METADATA) === true;
    if (gatekeeper.isOn && !isPublic) return false;
    this.#reject(response, this.#notFound('mcp'));
    return true;
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const refusal = this.#guard.check(request);
    const found = this.#paths.find(request.url ?? '/');
    const route = found?.kind === 'ws' ? found : undefined;
    if (refusal !== undefined) {
      refuseUpgrade(socket, refusal);
    } else if (route === undefined && !this.#context.gatekeeper.isOn) {
      refuseUpgrade(socket, this.#notFound('ws'));
    } else {
      void this.#upgrade(route, request, socket, head);
    }
  }

  async #upgrade(
    route: Route | undefined,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const decision = await this.#context.gatekeeper.admit(request, route);
    const refusal = this.#refusalOf(decision, 'ws');
    if (refusal !== undefined) refuseUpgrade(socket, refusal);
    if (route === undefined || !('principal' in decision)) return;
    const { principal } = decision;
    this.#turns.assign(request, this.#principals.of(principal));
    const turns = this.#turns.quotaOf(request);
    // Without a quota the connection is closed already.
    if (turns === undefined) return;
    this.#webSockets.upgrade(route.served, principal, { request, socket, head, turns });
  }

  #onError(error: unknown, response: ServerResponse): void {
    const { statusCode, message = '' } = error as Partial<FastifyError>;
    if (statusCode === REFUSALS.tooLarge.status) this.#reject(response, REFUSALS.tooLarge);
    else if (error instanceof BodyFailure && statusCode === REFUSALS.tooMuchHeld.status) {
      this.#reject(response, REFUSALS.tooMuchHeld, 'held_bytes');
    } else if (statusCode !== undefined && statusCode < 500) {
      this.#reject(response, { status: statusCode, code: REFUSED, message });
    } else {
      this.#context.logger.error({ err: error }, 'request failed');
      this.#reject(response, REFUSALS.failed);
    }
  }
}
