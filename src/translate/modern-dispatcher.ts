// Modern requests to one server: answers or refuses some itself, sends calls, and finds the suspended call
// for a retry.
import { wallClockMs } from '../base/clock.ts';
import { asGatewayError } from '../base/errors.ts';
import type { HeldBytes } from '../base/held-bytes.ts';
import { methodNotFound } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type JsonObject, parseParams, parseString } from '../jsonrpc/parse.ts';
import { ERRORS, HEADER_MISMATCH, missingCapability } from '../mcp/errors.ts';
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
import { contain, type Outcome, type Request } from '../ports/request.ts';
import type { ToolSource } from '../ports/tool-source.ts';
import { discoverResult, modernCapabilities, serverInfoOf } from './discovery.ts';
import { LeaseListenTarget, ModernListen } from './modern-listen.ts';
import { ModernToLegacy } from './modern-to-legacy.ts';
import { type ModernPasses, ModernToModern } from './modern-to-modern.ts';
import { OpenListens } from './open-listens.ts';
import type { StateOptions } from './options.ts';
import { digestOf, type StateClaims, StateSealer } from './request-state.ts';
import { ResponseCache } from './response-cache.ts';
import { ModernResultEncoder } from './result-text.ts';
import { SuspendedCalls } from './suspended-calls.ts';
import { awaitTaskIfRequired } from './tasks/awaited-call.ts';
import { PolledTasks } from './tasks/polled-tasks.ts';
import { type TaskClaims, TaskTable } from './tasks/task.ts';
import {
  type SharedTasks,
  TASKS_REQUIRED,
  takesToolTasks,
  taskTools,
} from './tasks/task-support.ts';
import { TaskWatch, type TellTask } from './tasks/task-watch.ts';
import { ToolFacts } from './tool-facts.ts';
import { MirroredArguments } from './tool-schemas.ts';

/** What all endpoints share for modern clients. */
export interface ModernState {
  readonly suspendedCalls: SuspendedCalls<ModernToLegacy>;
  readonly sealer: StateSealer;
  readonly results: ResponseCache;
  readonly tasks: SharedTasks;
  /** The arguments of tools that are repeated in headers. */
  readonly mirrored: ToolFacts<MirroredArguments>;
  /** Ended gracefully when the gateway stops. */
  readonly listens: OpenListens;
}

/**
 * Makes the shared state.
 * @param tools of all servers
 * @param held counts the bytes that are held for clients; absent if there is only one client
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

/** A server for modern clients. */
interface ModernOffer {
  readonly encoder: ModernResultEncoder;
  /** The capabilities that they may use. */
  readonly offered: JsonObject;
}

/** The modern requests of one endpoint at one server. */
export class ModernDispatcher {
  readonly #backend: Backend;
  readonly #state: ModernState;
  readonly #polledTasks: PolledTasks;
  readonly #calls: ModernPasses;
  /** Made once for each handshake of an instance, not for each call. */
  readonly #offers = new WeakMap<ServerIdentity, ModernOffer>();

  constructor(endpoint: string, backend: Backend, state: ModernState) {
    this.#backend = backend;
    this.#state = state;
    const { tasks, suspendedCalls, sealer, results } = state;
    const ownerOf = (principal: Principal): string => {
      const fingerprint = backend.credentialFingerprint(principal);
      return fingerprint === '' ? principal.key : `${principal.key} ${fingerprint}`;
    };
    this.#calls = { endpoint, suspendedCalls, sealer, ownerOf, table: tasks.table, results };
    this.#polledTasks = new PolledTasks(backend, tasks, suspendedCalls.ttlMs);
  }

  /** Serves a request. It is always settled in the end. */
  serve(request: Request): void {
    const { method } = request.frame;
    if (method === LISTEN) {
      contain(request, this.#listen(request));
    } else if (isNoModernRequest(method)) {
      request.settle(methodNotFound(method));
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
    // The handshake is needed only once, and a call should not have to wait for a promise.
    if (lease.identity !== undefined) this.#go(request, lease, lease.identity);
    else contain(request, this.#goWhenReady(request, lease));
  }

  async #goWhenReady(request: Request, lease: Lease): Promise<void> {
    try {
      await lease.ready();
    } catch (error) {
      end(request, lease, asGatewayError(error, this.#backend.name));
      return;
    }
    if (lease.identity !== undefined) this.#go(request, lease, lease.identity);
    // A plain JSON-RPC server has no description.
    else end(request, lease, methodNotFound(request.frame.method));
  }

  #go(request: Request, lease: Lease, identity: ServerIdentity): void {
    const { method } = request.frame;
    if (method === DISCOVER) {
      end(request, lease, discoverResult(identity, this.#backend.name));
    } else if (request.isSettled) {
      lease.leave();
    } else if (isTaskMethod(method)) {
      this.#aboutTask(request, lease, identity);
    } else if (identity.era === 'modern') {
      this.#pass(request, lease, identity);
    } else if (!isModernMethod(method) || !isOffered(method, this.#offerOf(identity).offered)) {
      end(request, lease, methodNotFound(method));
    } else if (mayAskInput(method) && isRetry(request)) {
      lease.leave();
      this.#resume(request);
    } else {
      this.#checked(request, lease, () => this.#call(request, lease, identity));
    }
  }

  /** A lease for a request: at the instance of its task, or at any. */
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
      ? methodNotFound(frame.method)
      : !hasTasks(client.capabilities)
        ? missingCapability(TASKS_REQUIRED)
        : ERRORS.unknownTask;
    if (error !== ERRORS.unknownTask || claims?.at !== lease.at) {
      end(request, lease, error);
    } else if (identity.era === 'modern') {
      this.#pass(request, lease, identity, claims);
    } else {
      contain(
        request,
        this.#polledTasks.serve(request, lease, claims, this.#offerOf(identity).encoder),
      );
    }
  }

  /** Continues if the headers of a call match its arguments. */
  #checked(request: Request, lease: Lease, go: () => void): void {
    const { headers, frame } = request;
    if (frame.method !== TOOLS_CALL || headers === undefined) {
      go();
      return;
    }
    this.#withFacts(this.#state.mirrored, request, lease, (schemas) => {
      const differing = schemas.differing(request);
      if (differing === undefined) go();
      else {
        const message = `Header mismatch: ${differing}.`;
        end(request, lease, { code: HEADER_MISMATCH, message });
      }
    });
  }

  /** Continues when the facts about the server's tools are known. */
  #withFacts<T>(facts: ToolFacts<T>, request: Request, lease: Lease, go: (known: T) => void): void {
    const known = facts.known(lease);
    if (known !== undefined) {
      go(known);
      return;
    }
    const read = facts.read(lease).then((found) => {
      if (request.isSettled) lease.leave();
      else go(found);
    });
    contain(request, read);
  }

  /** Client and server are of the same era. A server refuses what it does not know. */
  #pass(request: Request, lease: Lease, identity: ServerIdentity, task?: TaskClaims): void {
    const hasState = request.frame.stateStart >= 0;
    const claims = hasState ? this.#claimsOf(request) : undefined;
    if (!isOffered(request.frame.method, identity.capabilities)) {
      end(request, lease, methodNotFound(request.frame.method));
      return;
    }
    if (hasState && claims?.upstream === undefined) {
      end(request, lease, ERRORS.badState);
      return;
    }
    this.#checked(request, lease, () => {
      const known = this.#state.results.find(lease, request);
      if (known !== undefined) {
        end(request, lease, known);
        return;
      }
      const { encoder } = this.#offerOf(identity);
      const place = { lease, encoder, claims, task };
      lease.dispatch(new ModernToModern(request, place, this.#calls));
    });
  }

  /** Calls that may become tasks wait until it is known which tools support tasks. */
  #call(request: Request, lease: Lease, identity: ServerIdentity): void {
    const place = { lease, encoder: this.#offerOf(identity).encoder };
    const isTool = request.frame.method === TOOLS_CALL;
    if (!isTool || !takesToolTasks(identity)) {
      new ModernToLegacy(request, place, this.#calls, (call) => lease.dispatch(call)).start();
      return;
    }
    const { tasks } = this.#state;
    this.#withFacts(tasks.tools, request, lease, () => {
      const { capabilities } = request.client;
      const send = (call: Request): void => {
        const work = hasTasks(capabilities)
          ? this.#polledTasks.start(call, lease, capabilities)
          : awaitTaskIfRequired(call, lease, tasks);
        contain(call, work);
      };
      new ModernToLegacy(request, place, this.#calls, send).start();
    });
  }

  #resume(request: Request): void {
    const claims = this.#claimsOf(request);
    const call =
      claims?.suspendedId === undefined
        ? undefined
        : this.#state.suspendedCalls.find(claims.suspendedId);
    if (claims === undefined || call === undefined) request.settle(ERRORS.badState);
    else call.resume(request, claims);
  }

  /** The claims in the state of a retry, if it belongs to this request of this client. */
  #claimsOf(request: Request): StateClaims | undefined {
    const { frame, client } = request;
    const state = parseString(frame.bytes, frame.stateStart, frame.stateEnd);
    const claims = state === undefined ? undefined : this.#state.sealer.open(state);
    if (claims === undefined) return undefined;
    const { ownerOf, endpoint } = this.#calls;
    const isRight =
      claims.principal === ownerOf(client.principal) &&
      claims.endpoint === endpoint &&
      claims.expiresAt > wallClockMs() &&
      claims.request === digestOf(frame.method, parseParams(frame));
    return isRight ? claims : undefined;
  }

  async #listen(request: Request): Promise<void> {
    const listen = new ModernListen(request, this.#calls.endpoint, this.#state.listens);
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
    return new TaskWatch(client, this.#polledTasks, tell);
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

/** Whether a request has answers to server requests, or a state. */
function isRetry(request: Request): boolean {
  return request.frame.stateStart >= 0 || request.frame.responsesStart >= 0;
}

/** Settles a request that no longer needs its lease. */
function end(request: Request, lease: Lease, outcome: Outcome): void {
  lease.leave();
  request.settle(outcome);
}
