// One call of a modern client at a modern server: passed on as it is, except that the state of a
// retry is sealed toward the client, so that only its owner can bring it back
// (docs/protocol.md#states-between-modern-peers).
import { wallClockMs } from '../base/clock.ts';
import type { GatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, type WireError } from '../jsonrpc/error.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { editObject, lastMember } from '../jsonrpc/members.ts';
import { errorCodeOf, parseParams, parseString } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { withValue } from '../jsonrpc/splice.ts';
import { viewOf } from '../jsonrpc/text-walk.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import { hasTasks, isCacheable } from '../mcp/modern-methods.ts';
import type { Downstream, Question } from '../ports/downstream.ts';
import type { Exchange, ExchangeHolder } from '../ports/exchange.ts';
import type { ModernExchange } from '../ports/modern.ts';
import type { Principal } from '../ports/principal.ts';
import type { Seat } from '../ports/seat.ts';
import { tooManyQuestions } from './input-requests.ts';
import { MISSING_CAPABILITY, modernError } from './modern-errors.ts';
import { digestOf, type StateClaims, type StateSealer } from './request-state.ts';
import type { ResultDress } from './result-text.ts';
import { madeTaskResult, taskResult } from './tasks/passed-task.ts';
import type { TaskClaims } from './tasks/task-ids.ts';
import type { TaskTable } from './tasks/task-table.ts';
import { withParamsTaskId } from './tasks/task-text.ts';
import { modernToolList } from './tool-lists.ts';

const UNASKED_TASK: WireError = {
  code: INTERNAL_ERROR,
  message: 'The server returned a task, but the client did not declare the tasks extension.',
};

export interface ModernPassContext {
  readonly endpoint: string;
  readonly server: string;
  readonly seat: Seat;
  readonly dress: ResultDress;
  readonly sealer: StateSealer;
  /** Whose a state is, as it is sealed. */
  readonly ownerOf: (principal: Principal) => string;
  /** How long a client may take for one round. */
  readonly ttlMs: number;
  /** What the state of a retry says; undefined when it is none. */
  readonly claims: StateClaims | undefined;
  readonly table: TaskTable;
  /** The task that the request is about. */
  readonly task: TaskClaims | undefined;
  /** Keeps a result that may be given again. */
  keep(result: Buffer): void;
  /** The call is over. */
  done(): void;
}

/** Whoever makes a call. A server that was told to cancel is remembered with it, so it is kept small. */
class PassedClient implements Downstream {
  readonly principal: Principal;
  readonly version: string;
  readonly logThreshold: number;
  capabilities: Downstream['capabilities'];
  info: unknown;

  constructor({ client, envelope }: ModernExchange) {
    this.principal = client.principal;
    this.version = client.version;
    this.capabilities = client.capabilities;
    this.info = client.info;
    this.logThreshold = envelope.severity ?? Number.POSITIVE_INFINITY;
  }

  /** Only whose the call was matters any more. */
  letGo(): void {
    this.capabilities = {};
    this.info = undefined;
  }

  notify(): void {
    // What belongs to no call does not reach a modern client.
  }

  ask(question: Question): void {
    question.refuse({
      code: INVALID_PARAMS,
      message: 'A modern server must ask in its results (input_required).',
    });
  }

  withdraw(): void {
    // It was asked nothing.
  }
}

/** A modern client's call at a modern server. */
export class ModernPass implements Exchange, ExchangeHolder {
  readonly frame: Frame;
  readonly client: PassedClient;
  holder: ExchangeHolder | undefined = undefined;
  readonly #exchange: ModernExchange;
  readonly #context: ModernPassContext;

  constructor(exchange: ModernExchange, context: ModernPassContext) {
    this.#exchange = exchange;
    this.#context = context;
    const { claims, task } = context;
    this.frame =
      task === undefined
        ? withServerState(exchange.frame, claims?.upstream)
        : withParamsTaskId(exchange.frame, task.taskId);
    this.client = new PassedClient(exchange);
    exchange.holder = this;
  }

  get isSettled(): boolean {
    return this.#exchange.isSettled;
  }

  get limitMs(): number | undefined {
    return this.#exchange.limitMs;
  }

  get id(): number | undefined {
    return this.holder?.id;
  }

  start(): void {
    this.#context.seat.dispatch(this);
  }

  respond(answer: Frame): void {
    this.#context.done();
    if (answer.resultStart < 0) {
      this.#deliverError(answer);
      return;
    }
    const excess = isAsking(answer) ? tooManyQuestions(answer, this.#context.server) : undefined;
    if (excess !== undefined) {
      this.#exchange.fail(excess);
      return;
    }
    const result = this.#result(answer);
    if (result === undefined) {
      this.#exchange.refuse(UNASKED_TASK);
      return;
    }
    if (isCacheable(this.#exchange.frame.method)) this.#context.keep(result);
    this.#exchange.answer(result);
  }

  answer(result: Buffer): void {
    this.#context.done();
    this.#exchange.answer(result);
  }

  refuse(error: WireError): void {
    this.#context.done();
    this.#exchange.refuse(error);
  }

  fail(failure: GatewayError): void {
    this.#context.done();
    this.#exchange.fail(failure);
    this.client.letGo();
  }

  push(message: Buffer): boolean {
    return this.#exchange.push(message);
  }

  cancel(notice: Frame | undefined): void {
    this.#context.done();
    this.holder?.cancel(notice);
    this.client.letGo();
  }

  #deliverError(answer: Frame): void {
    const isOwn = errorCodeOf(answer) === MISSING_CAPABILITY;
    const error = isOwn ? undefined : modernError(this.#exchange.frame, answer);
    if (error === undefined) this.#exchange.respond(answer);
    else this.#exchange.refuse(error);
  }

  /** @returns undefined when it is a task for a client that knows none */
  #result(answer: Frame): Buffer | undefined {
    const { bytes, resultStart, resultEnd, resultTypeStart } = answer;
    if (isAsking(answer)) return this.#sealed(answer);
    const type = parseString(bytes, resultTypeStart, answer.resultTypeEnd);
    if (type === 'task') return this.#made(answer);
    const { task, table } = this.#context;
    if (task !== undefined) {
      return taskResult(viewOf(bytes, resultStart, resultEnd), task, table);
    }
    const { method } = this.#exchange.frame;
    const result =
      type === undefined
        ? this.#context.dress.modern(answer, isCacheable(method))
        : viewOf(bytes, resultStart, resultEnd);
    return method === TOOLS_LIST ? modernToolList(result) : result;
  }

  #made(answer: Frame): Buffer | undefined {
    if (!hasTasks(this.client.capabilities)) return undefined;
    const { server, seat, table } = this.#context;
    return madeTaskResult(answer, this.client, { server, at: seat.at, table }, this.holder);
  }

  #sealed(answer: Frame): Buffer {
    const { bytes, resultStart, resultEnd } = answer;
    const member = lastMember(bytes, resultStart, resultEnd, 'requestState');
    const upstream =
      member === undefined ? undefined : parseString(bytes, member.valueStart, member.valueEnd);
    if (upstream === undefined) return viewOf(bytes, resultStart, resultEnd);
    const { endpoint, sealer, ttlMs, claims, ownerOf } = this.#context;
    const state = sealer.seal({
      principal: ownerOf(this.client.principal),
      endpoint,
      request: digestOf(this.#exchange.frame.method, parseParams(this.#exchange.frame)),
      round: (claims?.round ?? 0) + 1,
      expiresAt: wallClockMs() + ttlMs,
      upstream,
    });
    const set = new Map([['requestState', jsonBytes(state)]]);
    return editObject(bytes, resultStart, resultEnd, { set });
  }
}

function isAsking({ bytes, resultTypeStart, resultTypeEnd }: Frame): boolean {
  return parseString(bytes, resultTypeStart, resultTypeEnd) === 'input_required';
}

/** The request with the server's own state in place of the sealed one. */
function withServerState(request: Frame, upstream: string | undefined): Frame {
  const { stateStart, stateEnd } = request;
  if (stateStart < 0 || upstream === undefined) return request;
  return withValue(request, stateStart, stateEnd, jsonBytes(upstream));
}
