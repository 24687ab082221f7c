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
import type { Principal } from '../ports/principal.ts';
import { contain, type Request } from '../ports/request.ts';
import type { Backend, Seat, ServerIdentity } from '../ports/seat.ts';
import type { ToolSource } from '../ports/tool-source.ts';
import { discoverResult, modernCapabilities, serverInfoOf } from './discovery.ts';
import { missingCapability } from './errors.ts';
import { ModernCall } from './modern-call.ts';
import { ModernListen, SeatPlace } from './modern-listen.ts';
import { ModernPass } from './modern-pass.ts';
import { OpenListens } from './open-listens.ts';
import type { StateOptions } from './options.ts';
import { Parks } from './parks.ts';
import { digestOf, type StateClaims, StateSealer } from './request-state.ts';
import { ResponseCache } from './response-cache.ts';
import { ResultDress } from './result-text.ts';
import { driveIfRequired } from './tasks/driven-task.ts';
import { Harvesting } from './tasks/harvesting.ts';
import { TASKS_REQUIRED, takesToolTasks, taskTools } from './tasks/offered.ts';
import type { TaskClaims } from './tasks/task-ids.ts';
import { type TaskState, UNKNOWN_TASK } from './tasks/task-state.ts';
import { TaskTable } from './tasks/task-table.ts';
import { TaskWatch, type TellTask } from './tasks/task-watch.ts';
import { ToolFacts } from './tool-facts.ts';
import { HEADER_MISMATCH, MirroredArguments } from './tool-schemas.ts';

/** What all endpoints share for modern clients. */
export interface ModernState {
  readonly parks: Parks<ModernCall>;
  readonly sealer: StateSealer;
  readonly results: ResponseCache;
  readonly tasks: TaskState;
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
    parks: new Parks<ModernCall>(options.ttl, held),
    sealer: new StateSealer(options.keys),
    results: new ResponseCache(),
    tasks: { table: new TaskTable(options.keys, held), tools: taskTools(tools) },
    mirrored: new ToolFacts(tools, (texts) => new MirroredArguments(texts)),
    listens: new OpenListens(held),
  };
}

/** A server as its modern clients see it. */
interface Face {
  readonly dress: ResultDress;
  /** What they may use of it. */
  readonly offered: JsonObject;
}

const BAD_STATE: WireError = {
  code: INVALID_PARAMS,
  message: 'Invalid params: requestState is expired, or does not belong to this request.',
};

/** Modern requests of one endpoint at one server. */
export class ModernGate {
  readonly #endpoint: string;
  readonly #backend: Backend;
  readonly #state: ModernState;
  readonly #harvesting: Harvesting;
  readonly #ownerOf = (principal: Principal): string => {
    const proof = this.#backend.proofOf(principal);
    return proof === '' ? principal.key : `${principal.key} ${proof}`;
  };
  /** Made once for each handshake of an instance, not for each call. */
  readonly #faces = new WeakMap<ServerIdentity, Face>();

  constructor(endpoint: string, backend: Backend, state: ModernState) {
    this.#endpoint = endpoint;
    this.#backend = backend;
    this.#state = state;
    const { tasks, parks } = state;
    this.#harvesting = new Harvesting({ backend, ...tasks, ttlMs: parks.ttlMs });
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
    let seat: Seat;
    try {
      seat = this.#place(request);
    } catch (error) {
      request.settle(asGatewayError(error, this.#backend.name));
      return;
    }
    // The handshake is needed only once: a call must not wait for a promise.
    if (seat.identity !== undefined) this.#go(request, seat, seat.identity);
    else contain(request, this.#goWhenReady(request, seat));
  }

  async #goWhenReady(request: Request, seat: Seat): Promise<void> {
    try {
      await seat.ready();
    } catch (error) {
      seat.leave();
      request.settle(asGatewayError(error, this.#backend.name));
      return;
    }
    if (seat.identity !== undefined) {
      this.#go(request, seat, seat.identity);
      return;
    }
    // A server that speaks plain JSON-RPC has nothing to say of itself.
    seat.leave();
    request.settle(notFound(request.frame.method));
  }

  #go(request: Request, seat: Seat, identity: ServerIdentity): void {
    const { method } = request.frame;
    if (method === DISCOVER) {
      seat.leave();
      request.settle(discoverResult(identity, this.#backend.name));
    } else if (request.isSettled) {
      seat.leave();
    } else if (isTaskMethod(method)) {
      this.#aboutTask(request, seat, identity);
    } else if (identity.era === 'modern') {
      this.#pass(request, seat, identity);
    } else if (!isModernMethod(method) || !isOffered(method, this.#faceOf(identity).offered)) {
      seat.leave();
      request.settle(notFound(method));
    } else if (mayAskInput(method) && isRetry(request)) {
      seat.leave();
      this.#resume(request);
    } else {
      this.#checked(request, seat, () => this.#call(request, seat, identity));
    }
  }

  /** Where a request goes: where its task runs, or anywhere. */
  #place({ frame, client }: Request): Seat {
    const claims = isTaskMethod(frame.method) ? this.#taskOf(frame, client) : undefined;
    const there = claims && this.#backend.placeAt(client, claims.at);
    return there ?? this.#backend.place(client);
  }

  #taskOf(request: Frame, { principal }: Downstream): TaskClaims | undefined {
    const claims = this.#state.tasks.table.open(parseParams(request)['taskId'], principal);
    return claims?.server === this.#backend.name ? claims : undefined;
  }

  #aboutTask(request: Request, seat: Seat, identity: ServerIdentity): void {
    const { frame, client } = request;
    const claims = this.#taskOf(frame, client);
    const isOpen =
      isModernMethod(frame.method) && isOffered(frame.method, this.#faceOf(identity).offered);
    const error = !isOpen
      ? notFound(frame.method)
      : !hasTasks(client.capabilities)
        ? missingCapability(TASKS_REQUIRED)
        : UNKNOWN_TASK;
    if (error !== UNKNOWN_TASK || claims?.at !== seat.at) {
      seat.leave();
      request.settle(error);
    } else if (identity.era === 'modern') {
      this.#pass(request, seat, identity, claims);
    } else {
      contain(request, this.#harvesting.serve(request, seat, claims, this.#dressFor(identity)));
    }
  }

  /** Goes on when the headers of a call repeat its arguments as the tool's schema has it. */
  #checked(request: Request, seat: Seat, go: () => void): void {
    const { headers, frame } = request;
    if (frame.method !== TOOLS_CALL || headers === undefined) {
      go();
      return;
    }
    const known = this.#state.mirrored.known(seat);
    if (known !== undefined) this.#check(request, seat, known, go);
    else {
      const checked = this.#state.mirrored.read(seat).then((schemas) => {
        if (request.isSettled) seat.leave();
        else this.#check(request, seat, schemas, go);
      });
      contain(request, checked);
    }
  }

  #check(request: Request, seat: Seat, schemas: MirroredArguments, go: () => void): void {
    const differing = schemas.differing(request);
    if (differing === undefined) {
      go();
      return;
    }
    seat.leave();
    request.settle({ code: HEADER_MISMATCH, message: `Header mismatch: ${differing}.` });
  }

  /** Both sides speak the same: what the server does not know, it refuses itself. */
  #pass(request: Request, seat: Seat, identity: ServerIdentity, task?: TaskClaims): void {
    const hasState = request.frame.stateStart >= 0;
    const claims = hasState ? this.#claimsOf(request) : undefined;
    if (!isOffered(request.frame.method, identity.capabilities)) {
      seat.leave();
      request.settle(notFound(request.frame.method));
      return;
    }
    if (hasState && claims?.upstream === undefined) {
      seat.leave();
      request.settle(BAD_STATE);
      return;
    }
    this.#checked(request, seat, () => {
      const { sealer, parks, tasks, results } = this.#state;
      const known = results.find(seat, request);
      if (known !== undefined) {
        seat.leave();
        request.settle(known);
        return;
      }
      const pass = new ModernPass(request, {
        endpoint: this.#endpoint,
        seat,
        dress: this.#dressFor(identity),
        server: this.#backend.name,
        sealer,
        ownerOf: this.#ownerOf,
        ttlMs: parks.ttlMs,
        claims,
        table: tasks.table,
        task,
        keep: (result) => results.keep(seat, request, result),
        done: () => seat.leave(),
      });
      pass.start();
    });
  }

  /** Calls that may become tasks wait until it is known which tools do. */
  #call(request: Request, seat: Seat, identity: ServerIdentity): void {
    const isTool = request.frame.method === TOOLS_CALL;
    if (!isTool || !takesToolTasks(identity)) {
      this.#callWith(request, seat, identity, (call) => seat.dispatch(call));
      return;
    }
    const { tools } = this.#state.tasks;
    if (tools.known(seat) !== undefined) {
      this.#callTool(request, seat, identity);
      return;
    }
    const called = tools.read(seat).then(() => {
      if (request.isSettled) seat.leave();
      else this.#callTool(request, seat, identity);
    });
    contain(request, called);
  }

  #callTool(request: Request, seat: Seat, identity: ServerIdentity): void {
    const { tasks } = this.#state;
    const { name } = this.#backend;
    this.#callWith(request, seat, identity, (call) => {
      const { capabilities } = request.client;
      const work = hasTasks(capabilities)
        ? this.#harvesting.start(call, seat, capabilities)
        : driveIfRequired(call, seat, name, tasks);
      contain(call, work);
    });
  }

  #callWith(
    request: Request,
    seat: Seat,
    identity: ServerIdentity,
    send: (call: Request) => void,
  ): void {
    const context = {
      endpoint: this.#endpoint,
      seat,
      dress: this.#dressFor(identity),
      parks: this.#state.parks,
      sealer: this.#state.sealer,
      ownerOf: this.#ownerOf,
      done: () => seat.leave(),
    };
    const call = new ModernCall(request, context, send);
    call.start();
  }

  #resume(request: Request): void {
    const claims = this.#claimsOf(request);
    const call = claims?.park === undefined ? undefined : this.#state.parks.find(claims.park);
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
        return new SeatPlace(this.#backend.place(client), (tell) => this.watchTasks(client, tell));
      });
    } catch (error) {
      listen.cancel();
      request.settle(asGatewayError(error, this.#backend.name));
    }
  }

  /** Watches tasks of a client at the server, for its listen stream. */
  watchTasks(client: Downstream, tell: TellTask): TaskWatch {
    const { table } = this.#state.tasks;
    const harvesting = this.#harvesting;
    return new TaskWatch(client, { backend: this.#backend, table, harvesting }, tell);
  }

  #dressFor(identity: ServerIdentity): ResultDress {
    return this.#faceOf(identity).dress;
  }

  #faceOf(identity: ServerIdentity): Face {
    let face = this.#faces.get(identity);
    if (face === undefined) {
      const dress = new ResultDress(serverInfoOf(identity, this.#backend.name));
      face = { dress, offered: modernCapabilities(identity) };
      this.#faces.set(identity, face);
    }
    return face;
  }
}

/** Whether a request answers questions, or brings a state back. */
function isRetry(request: Request): boolean {
  return request.frame.stateStart >= 0 || request.frame.responsesStart >= 0;
}

function notFound(method: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${method.slice(0, 100)}` };
}
