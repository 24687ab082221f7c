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
import { contain } from '../ports/contain.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Exchange } from '../ports/exchange.ts';
import type { ModernExchange } from '../ports/modern.ts';
import type { Principal } from '../ports/principal.ts';
import type { Backend, Seat, ServerIdentity } from '../ports/seat.ts';
import type { ToolSource } from '../ports/tool-source.ts';
import { discoverResult, modernCapabilities, serverInfoOf } from './discovery.ts';
import { ModernCall } from './modern-call.ts';
import { missingCapability } from './modern-errors.ts';
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
    parks: new Parks<ModernCall>(options.ttlMs, held),
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
  serve(exchange: ModernExchange): void {
    const { method } = exchange.frame;
    if (method === LISTEN) {
      contain(exchange, this.#listen(exchange));
    } else if (isNoModernRequest(method)) {
      exchange.refuse(notFound(method));
    } else {
      this.#begin(exchange);
    }
  }

  #begin(exchange: ModernExchange): void {
    let seat: Seat;
    try {
      seat = this.#place(exchange);
    } catch (error) {
      exchange.fail(asGatewayError(error, this.#backend.name));
      return;
    }
    // The handshake is needed only once: a call must not wait for a promise.
    if (seat.identity !== undefined) this.#go(exchange, seat, seat.identity);
    else contain(exchange, this.#goWhenReady(exchange, seat));
  }

  async #goWhenReady(exchange: ModernExchange, seat: Seat): Promise<void> {
    try {
      await seat.ready();
    } catch (error) {
      seat.leave();
      exchange.fail(asGatewayError(error, this.#backend.name));
      return;
    }
    if (seat.identity !== undefined) {
      this.#go(exchange, seat, seat.identity);
      return;
    }
    // A server that speaks plain JSON-RPC has nothing to say of itself.
    seat.leave();
    exchange.refuse(notFound(exchange.frame.method));
  }

  #go(exchange: ModernExchange, seat: Seat, identity: ServerIdentity): void {
    const { method } = exchange.frame;
    if (method === DISCOVER) {
      seat.leave();
      exchange.answer(discoverResult(identity, this.#backend.name));
    } else if (exchange.isSettled) {
      seat.leave();
    } else if (isTaskMethod(method)) {
      this.#aboutTask(exchange, seat, identity);
    } else if (identity.era === 'modern') {
      this.#pass(exchange, seat, identity);
    } else if (!isModernMethod(method) || !isOffered(method, this.#faceOf(identity).offered)) {
      seat.leave();
      exchange.refuse(notFound(method));
    } else if (mayAskInput(method) && isRetry(exchange)) {
      seat.leave();
      this.#resume(exchange);
    } else {
      this.#checked(exchange, seat, () => this.#call(exchange, seat, identity));
    }
  }

  /** Where a request goes: where its task runs, or anywhere. */
  #place({ frame, client }: ModernExchange): Seat {
    const claims = isTaskMethod(frame.method) ? this.#taskOf(frame, client) : undefined;
    const there = claims && this.#backend.placeAt(client, claims.at);
    return there ?? this.#backend.place(client);
  }

  #taskOf(request: Frame, { principal }: Downstream): TaskClaims | undefined {
    const claims = this.#state.tasks.table.open(parseParams(request)['taskId'], principal);
    return claims?.server === this.#backend.name ? claims : undefined;
  }

  #aboutTask(exchange: ModernExchange, seat: Seat, identity: ServerIdentity): void {
    const { frame, client, envelope } = exchange;
    const claims = this.#taskOf(frame, client);
    const isOpen =
      isModernMethod(frame.method) && isOffered(frame.method, this.#faceOf(identity).offered);
    const error = !isOpen
      ? notFound(frame.method)
      : !hasTasks(envelope.capabilities)
        ? missingCapability(TASKS_REQUIRED)
        : UNKNOWN_TASK;
    if (error !== UNKNOWN_TASK || claims?.at !== seat.at) {
      seat.leave();
      exchange.refuse(error);
    } else if (identity.era === 'modern') {
      this.#pass(exchange, seat, identity, claims);
    } else {
      contain(exchange, this.#harvesting.serve(exchange, seat, claims, this.#dressFor(identity)));
    }
  }

  /** Goes on when the headers of a call repeat its arguments as the tool's schema has it. */
  #checked(exchange: ModernExchange, seat: Seat, go: () => void): void {
    const { headers, frame } = exchange;
    if (frame.method !== TOOLS_CALL || headers === undefined) {
      go();
      return;
    }
    const known = this.#state.mirrored.known(seat);
    if (known !== undefined) this.#check(exchange, seat, known, go);
    else {
      const checked = this.#state.mirrored.read(seat).then((schemas) => {
        if (exchange.isSettled) seat.leave();
        else this.#check(exchange, seat, schemas, go);
      });
      contain(exchange, checked);
    }
  }

  #check(exchange: ModernExchange, seat: Seat, schemas: MirroredArguments, go: () => void): void {
    const differing = schemas.differing(exchange);
    if (differing === undefined) {
      go();
      return;
    }
    seat.leave();
    exchange.refuse({ code: HEADER_MISMATCH, message: `Header mismatch: ${differing}.` });
  }

  /** Both sides speak the same: what the server does not know, it refuses itself. */
  #pass(exchange: ModernExchange, seat: Seat, identity: ServerIdentity, task?: TaskClaims): void {
    const hasState = exchange.frame.stateStart >= 0;
    const claims = hasState ? this.#claimsOf(exchange) : undefined;
    if (!isOffered(exchange.frame.method, identity.capabilities)) {
      seat.leave();
      exchange.refuse(notFound(exchange.frame.method));
      return;
    }
    if (hasState && claims?.upstream === undefined) {
      seat.leave();
      exchange.refuse(BAD_STATE);
      return;
    }
    this.#checked(exchange, seat, () => {
      const { sealer, parks, tasks, results } = this.#state;
      const known = results.find(seat, exchange);
      if (known !== undefined) {
        seat.leave();
        exchange.answer(known);
        return;
      }
      const pass = new ModernPass(exchange, {
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
        keep: (result) => results.keep(seat, exchange, result),
        done: () => seat.leave(),
      });
      pass.start();
    });
  }

  /** Calls that may become tasks wait until it is known which tools do. */
  #call(exchange: ModernExchange, seat: Seat, identity: ServerIdentity): void {
    const isTool = exchange.frame.method === TOOLS_CALL;
    if (!isTool || !takesToolTasks(identity)) {
      this.#callWith(exchange, seat, identity, (call) => seat.dispatch(call));
      return;
    }
    const { tools } = this.#state.tasks;
    if (tools.known(seat) !== undefined) {
      this.#callTool(exchange, seat, identity);
      return;
    }
    const called = tools.read(seat).then(() => {
      if (exchange.isSettled) seat.leave();
      else this.#callTool(exchange, seat, identity);
    });
    contain(exchange, called);
  }

  #callTool(exchange: ModernExchange, seat: Seat, identity: ServerIdentity): void {
    const { tasks } = this.#state;
    const { name } = this.#backend;
    this.#callWith(exchange, seat, identity, (call) => {
      const work = hasTasks(exchange.envelope.capabilities)
        ? this.#harvesting.start(call, seat, exchange.envelope.capabilities)
        : driveIfRequired(call, seat, name, tasks);
      contain(call, work);
    });
  }

  #callWith(
    exchange: ModernExchange,
    seat: Seat,
    identity: ServerIdentity,
    send: (call: Exchange) => void,
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
    const call = new ModernCall(exchange, context, send);
    call.start();
  }

  #resume(exchange: ModernExchange): void {
    const claims = this.#claimsOf(exchange);
    const call = claims?.park === undefined ? undefined : this.#state.parks.find(claims.park);
    if (claims === undefined || call === undefined) exchange.refuse(BAD_STATE);
    else call.resume(exchange, claims);
  }

  /** What the state of a retry says, if it is one for exactly this request of this client. */
  #claimsOf(exchange: ModernExchange): StateClaims | undefined {
    const { frame, client } = exchange;
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

  async #listen(exchange: ModernExchange): Promise<void> {
    const listen = new ModernListen(exchange, this.#state.listens);
    try {
      await listen.start((client: Downstream) => {
        return new SeatPlace(this.#backend.place(client), (tell) => this.watchTasks(client, tell));
      });
    } catch (error) {
      listen.cancel();
      exchange.fail(asGatewayError(error, this.#backend.name));
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
function isRetry(exchange: ModernExchange): boolean {
  return exchange.frame.stateStart >= 0 || exchange.frame.responsesStart >= 0;
}

function notFound(method: string): WireError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${method.slice(0, 100)}` };
}
