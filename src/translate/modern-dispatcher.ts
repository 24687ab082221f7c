// Modern requests to one server: what the gateway answers itself, what it refuses, what becomes a
// call, and which call a retry belongs to.
import { wallClockMs } from '../base/clock.ts';
import { asGatewayError } from '../base/errors.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type JsonObject, parseParams, parseString } from '../jsonrpc/parse.ts';
import { isTaskMethod, TOOLS_CALL } from '../mcp/methods.ts';
import {
  DISCOVER,
  hasTasks,
  isModernMethod,
  isNoModernRequest,
  isOffered,
  LISTEN,
  mayAskInput,
} from '../mcp/modern-methods.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Backend, Lease, ServerIdentity } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import { contain, type Request } from '../ports/request.ts';
import type { ToolSource } from '../ports/tool-source.ts';
import { discoverResult, modernCapabilities, serverInfoOf } from './discovery.ts';
import { missingCapability } from './errors.ts';
import { LeaseListenTarget, ModernListen } from './modern-listen.ts';
import { ModernToLegacy } from './modern-to-legacy.ts';
import { ModernToModern } from './modern-to-modern.ts';
import { OpenListens } from './open-listens.ts';
import type { StateOptions } from './options.ts';
import { digestOf, type StateClaims, StateSealer } from './request-state.ts';
import { ResponseCache } from './response-cache.ts';
import { ModernResultEncoder } from './result-text.ts';
import { SuspendedCalls } from './suspended-calls.ts';
import { awaitTaskIfRequired } from './tasks/awaited-task.ts';
import { TASKS_REQUIRED, takesToolTasks, taskTools } from './tasks/offered.ts';
import type { TaskClaims } from './tasks/task-ids.ts';
import { TaskPolling } from './tasks/task-polling.ts';
import { type TaskServices, UNKNOWN_TASK } from './tasks/task-services.ts';
import { TaskTable } from './tasks/task-table.ts';
import { TaskWatch, type TellTask } from './tasks/task-watch.ts';
import { ToolFacts } from './tool-facts.ts';
import { HEADER_MISMATCH, MirroredArguments } from './tool-schemas.ts';

/** What all endpoints share for modern clients. */
export interface ModernState {
  readonly suspendedCalls: SuspendedCalls<ModernToLegacy>;
  readonly sealer: StateSealer;
  readonly results: ResponseCache;
  readonly tasks: TaskServices;
  /** Which arguments of tools stand in headers too. */
  readonly mirrored: ToolFacts<MirroredArguments>;
  /** To be ended in order when the gateway stops. */
  readonly listens: OpenListens;
}

/**
 * Makes what all endpoints share.
 * @param tools of all servers
 * @param held where what is held for clients counts; absent where there is one client only
 */
export function createModernState(
  options: StateOptions,
  tools: ToolSource,
  held?: HeldBytes,
): ModernState {
  return {
    suspendedCalls: new SuspendedCalls<ModernToLegacy>(options.ttl, held),
    sealer: new StateSealer(options.keys),
    results: new ResponseCache(),
    tasks: { table: new TaskTable(options.keys, held), tools: taskTools(tools) },
    mirrored: new ToolFacts(tools, (texts) => new MirroredArguments(texts)),
    listens: new OpenListens(held),
  };
}

/** A server as its modern clients see it. */
interface ModernOffer {
  readonly encoder: ModernResultEncoder;
  /** What they may use of it. */
  readonly offered: JsonObject;
}

const BAD_STATE: WireError = {
  code: INVALID_PARAMS,
  message: 'Invalid params: requestState is expired, or does not belong to this request.',
};

/** Modern requests of one endpoint at one server. */
export class ModernDispatcher {
  readonly #endpoint: string;
  readonly #backend: Backend;
  readonly #state: ModernState;
  readonly #taskPolling: TaskPolling;
  readonly #ownerOf = (principal: Principal): string => {
    const fingerprint = this.#backend.credentialFingerprint(principal);
    return fingerprint === '' ? principal.key : `${principal.key} ${fingerprint}`;
  };
  /** Made once for each handshake of an instance, not for each call. */
  readonly #offers = new WeakMap<ServerIdentity, ModernOffer>();

  constructor(endpoint: string, backend: Backend, state: ModernState) {
    this.#endpoint = endpoint;
    this.#backend = backend;
    this.#state = state;
    const { tasks, suspendedCalls } = state;
    this.#taskPolling = new TaskPolling({ backend, ...tasks, ttlMs: suspendedCalls.ttlMs });
  }

  /** Serves a request; it is settled in the end. */
  serve(request: Request): void {
    const { method } = request.frame;
    if (method === LISTEN) {
      contain(request, this.#listen(request));
    } else if (isNoModernRequest(method)) {
      request.settle(notFound(method));
    } else {
      this.#begin(request);
    }
  }

  #begin(request: Request): void {
    let lease: Lease;
    try {
      lease = this.#acquire(request);
    } catch (error) {
      request.settle(asGatewayError(error, this.#backend.name));
      return;
    }
    // The handshake is needed only once: a call must not wait for a promise.
    if (lease.identity !== undefined) this.#go(request, lease, lease.identity);
    else contain(request, this.#goWhenReady(request, lease));
  }

  async #goWhenReady(request: Request, lease: Lease): Promise<void> {
    try {
      await lease.ready();
    } catch (error) {
      lease.leave();
      request.settle(asGatewayError(error, this.#backend.name));
      return;
    }
    if (lease.identity !== undefined) {
      this.#go(request, lease, lease.identity);
      return;
    }
    // A server that speaks plain JSON-RPC has nothing to say of itself.
    lease.leave();
    request.settle(notFound(request.frame.method));
  }

  #go(request: Request, lease: Lease, identity: ServerIdentity): void {
    const { method } = request.frame;
    if (method === DISCOVER) {
      lease.leave();
      request.settle(discoverResult(identity, this.#backend.name));
    } else if (request.isSettled) {
      lease.leave();
    } else if (isTaskMethod(method)) {
      this.#aboutTask(request, lease, identity);
    } else if (identity.era === 'modern') {
      this.#pass(request, lease, identity);
    } else if (!isModernMethod(method) || !isOffered(method, this.#offerOf(identity).offered)) {
      lease.leave();
      request.settle(notFound(method));
    } else if (mayAskInput(method) && isRetry(request)) {
      lease.leave();
      this.#resume(request);
    } else {
      this.#checked(request, lease, () => this.#call(request, lease, identity));
    }
  }

  /** Where a request goes: where its task runs, or anywhere. */
  #acquire({ frame, client }: Request): Lease {
    const claims = isTaskMethod(frame.method) ? this.#taskOf(frame, client) : undefined;
    const there = claims && this.#backend.acquireById(client, claims.at);
    return there ?? this.#backend.acquire(client);
  }

  #taskOf(request: Frame, { principal }: Downstream): TaskClaims | undefined {
    const claims = this.#state.tasks.table.open(parseParams(request)['taskId'], principal);
    return claims?.server === this.#backend.name ? claims : undefined;
  }

  #aboutTask(request: Request, lease: Lease, identity: ServerIdentity): void {
    const { frame, client } = request;
    const claims = this.#taskOf(frame, client);
    const isOpen =
      isModernMethod(frame.method) && isOffered(frame.method, this.#offerOf(identity).offered);
    const error = !isOpen
      ? notFound(frame.method)
      : !hasTasks(client.capabilities)
        ? missingCapability(TASKS_REQUIRED)
        : UNKNOWN_TASK;
    if (error !== UNKNOWN_TASK || claims?.at !== lease.at) {
      lease.leave();
      request.settle(error);
    } else if (identity.era === 'modern') {
      this.#pass(request, lease, identity, claims);
    } else {
      contain(request, this.#taskPolling.serve(request, lease, claims, this.#encoderFor(identity)));
    }
  }

  /** Goes on when the headers of a call repeat its arguments as the tool's schema has it. */
  #checked(request: Request, lease: Lease, go: () => void): void {
    const { headers, frame } = request;
    if (frame.method !== TOOLS_CALL || headers === undefined) {
      go();
      return;
    }
    const known = this.#state.mirrored.known(lease);
    if (known !== undefined) this.#check(request, lease, known, go);
    else {
      const checked = this.#state.mirrored.read(lease).then((schemas) => {
        if (request.isSettled) lease.leave();
        else this.#check(request, lease, schemas, go);
      });
      contain(request, checked);
    }
  }

  #check(request: Request, lease: Lease, schemas: MirroredArguments, go: () => void): void {
    const differing = schemas.differing(request);
    if (differing === undefined) {
      go();
      return;
    }
    lease.leave();
    request.settle({ code: HEADER_MISMATCH, message: `Header mismatch: ${differing}.` });
  }

  /** Both sides speak the same: what the server does not know, it refuses itself. */
  #pass(request: Request, lease: Lease, identity: ServerIdentity, task?: TaskClaims): void {
    const hasState = request.frame.stateStart >= 0;
    const claims = hasState ? this.#claimsOf(request) : undefined;
    if (!isOffered(request.frame.method, identity.capabilities)) {
      lease.leave();
      request.settle(notFound(request.frame.method));
      return;
    }
    if (hasState && claims?.upstream === undefined) {
      lease.leave();
      request.settle(BAD_STATE);
      return;
    }
    this.#checked(request, lease, () => {
      const { sealer, suspendedCalls, tasks, results } = this.#state;
      const known = results.find(lease, request);
      if (known !== undefined) {
        lease.leave();
        request.settle(known);
        return;
      }
      const pass = new ModernToModern(request, {
        endpoint: this.#endpoint,
        lease,
        encoder: this.#encoderFor(identity),
        server: this.#backend.name,
        sealer,
        ownerOf: this.#ownerOf,
        ttlMs: suspendedCalls.ttlMs,
        claims,
        table: tasks.table,
        task,
        keep: (result) => results.keep(lease, request, result),
        done: () => lease.leave(),
      });
      pass.start();
    });
  }

  /** Calls that may become tasks wait until it is known which tools do. */
  #call(request: Request, lease: Lease, identity: ServerIdentity): void {
    const isTool = request.frame.method === TOOLS_CALL;
    if (!isTool || !takesToolTasks(identity)) {
      this.#callWith(request, lease, identity, (call) => lease.dispatch(call));
      return;
    }
    const { tools } = this.#state.tasks;
    if (tools.known(lease) !== undefined) {
      this.#callTool(request, lease, identity);
      return;
    }
    const called = tools.read(lease).then(() => {
      if (request.isSettled) lease.leave();
      else this.#callTool(request, lease, identity);
    });
    contain(request, called);
  }

  #callTool(request: Request, lease: Lease, identity: ServerIdentity): void {
    const { tasks } = this.#state;
    const { name } = this.#backend;
    this.#callWith(request, lease, identity, (call) => {
      const { capabilities } = request.client;
      const work = hasTasks(capabilities)
        ? this.#taskPolling.start(call, lease, capabilities)
        : awaitTaskIfRequired(call, lease, name, tasks);
      contain(call, work);
    });
  }

  #callWith(
    request: Request,
    lease: Lease,
    identity: ServerIdentity,
    send: (call: Request) => void,
  ): void {
    const context = {
      endpoint: this.#endpoint,
      lease,
      encoder: this.#encoderFor(identity),
      suspendedCalls: this.#state.suspendedCalls,
      sealer: this.#state.sealer,
      ownerOf: this.#ownerOf,
      done: () => lease.leave(),
    };
    const call = new ModernToLegacy(request, context, send);
    call.start();
  }

  #resume(request: Request): void {
    const claims = this.#claimsOf(request);
    const call =
      claims?.suspendedId === undefined
        ? undefined
        : this.#state.suspendedCalls.find(claims.suspendedId);
    if (claims === undefined || call === undefined) request.settle(BAD_STATE);
    else call.resume(request, claims);
  }

  /** What the state of a retry says, if it is one for exactly this request of this client. */
  #claimsOf(request: Request): StateClaims | undefined {
    const { frame, client } = request;
    const state = parseString(frame.bytes, frame.stateStart, frame.stateEnd);
    const claims = state === undefined ? undefined : this.#state.sealer.open(state);
    if (claims === undefined) return undefined;
    const isRight =
      claims.principal === this.#ownerOf(client.principal) &&
      claims.endpoint === this.#endpoint &&
      claims.expiresAt > wallClockMs() &&
      claims.request === digestOf(frame.method, parseParams(frame));
    return isRight ? claims : undefined;
  }

  async #listen(request: Request): Promise<void> {
    const listen = new ModernListen(request, this.#state.listens);
    try {
      await listen.start((client: Downstream) => {
        return new LeaseListenTarget(this.#backend.acquire(client), (tell) =>
          this.watchTasks(client, tell),
        );
      });
    } catch (error) {
      listen.cancel();
      request.settle(asGatewayError(error, this.#backend.name));
    }
  }

  /** Watches tasks of a client at the server, for its listen stream. */
  watchTasks(client: Downstream, tell: TellTask): TaskWatch {
    const { table } = this.#state.tasks;
    const taskPolling = this.#taskPolling;
    return new TaskWatch(client, { backend: this.#backend, table, taskPolling }, tell);
  }

  #encoderFor(identity: ServerIdentity): ModernResultEncoder {
    return this.#offerOf(identity).encoder;
  }

  #offerOf(identity: ServerIdentity): ModernOffer {
    let offer = this.#offers.get(identity);
    if (offer === undefined) {
      const encoder = new ModernResultEncoder(serverInfoOf(identity, this.#backend.name));
      offer = { encoder, offered: modernCapabilities(identity) };
      this.#offers.set(identity, offer);
    }
    return offer;
  }
}

/** Whether a request answers server requests, or brings a state back. */
function isRetry(request: Request): boolean {
  return request.frame.stateStart >= 0 || request.frame.responsesStart >= 0;
}

function notFound(method: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${method.slice(0, 100)}` };
}
