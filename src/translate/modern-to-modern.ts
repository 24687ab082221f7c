// One call of a modern client at a modern server. It is passed on unchanged, except that the server's state
// is sealed for the client, so that only its owner can return it
// (docs/protocol.md#states-between-modern-peers).
import { wallClockMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { isTextWithin, TEXT_LIMITS } from '../base/text-limits.ts';
import { Frame } from '../jsonrpc/frame.ts';
import { editObject, lastMember } from '../jsonrpc/members.ts';
import { errorCodeOf, parseParams, parseString } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { withValue } from '../jsonrpc/splice.ts';
import { viewOf } from '../jsonrpc/text-walk.ts';
import { ERRORS, MISSING_CAPABILITY, UNASKABLE } from '../mcp/errors.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import { hasTasks, isCacheable } from '../mcp/modern-methods.ts';
import { ForwardedRequest } from '../ports/forwarded-request.ts';
import type { Outcome, Request } from '../ports/request.ts';
import { SilentClient } from '../ports/silent-client.ts';
import { modernError } from './errors.ts';
import { tooManyServerRequests } from './input-requests.ts';
import type { CallPlace, ModernCalls } from './modern-to-legacy.ts';
import { digestOf, type StateClaims } from './request-state.ts';
import type { ResponseCache } from './response-cache.ts';
import { claimsOf, Task, type TaskClaims, type TaskTable } from './tasks/task.ts';
import { taskStateOf, withParamsTaskId, withTaskId } from './tasks/task-text.ts';
import { modernToolList } from './tool-lists.ts';

/** What such calls share in addition. */
export interface ModernPasses extends ModernCalls {
  readonly table: TaskTable;
  readonly results: ResponseCache;
}

/** The lease for a call, and what it is about. */
export interface PassPlace extends CallPlace {
  /** The claims of the state of a retry; undefined if it is not a retry. */
  readonly claims: StateClaims | undefined;
  /** The task that the request is about. */
  readonly task: TaskClaims | undefined;
}

/** A modern client's call at a modern server. */
export class ModernToModern extends ForwardedRequest {
  /** Abandoned calls keep their client in memory, so it is kept small. */
  declare readonly client: SilentClient;
  readonly #place: PassPlace;
  readonly #shared: ModernPasses;

  constructor(original: Request, place: PassPlace, shared: ModernPasses) {
    const { frame, client } = original;
    const { claims, task } = place;
    super(
      original,
      task === undefined
        ? withServerState(frame, claims?.upstream)
        : withParamsTaskId(frame, task.taskId),
      new SilentClient(client.principal, client, UNASKABLE.modernServer, client.logThreshold),
    );
    this.#place = place;
    this.#shared = shared;
  }

  override settle(outcome: Outcome): void {
    const isError = outcome instanceof Frame && outcome.resultStart < 0;
    super.settle(isError ? this.#error(outcome) : outcome);
    if (outcome instanceof GatewayError) this.client.letGo();
  }

  protected override answered(answer: Frame): void {
    const { lease } = this.#place;
    const excess = isAsking(answer) ? tooManyServerRequests(answer, lease.server) : undefined;
    const outcome = excess ?? this.#result(answer) ?? ERRORS.taskNotAskedFor;
    if (Buffer.isBuffer(outcome) && isCacheable(this.original.frame.method)) {
      this.#shared.results.keep(lease, this.original, outcome);
    }
    this.pass(outcome);
  }

  protected override ended(): void {
    this.#place.lease.leave();
  }

  override cancel(notice: Frame | undefined): void {
    super.cancel(notice);
    this.client.letGo();
  }

  #error(answer: Frame): Outcome {
    const isOwn = errorCodeOf(answer) === MISSING_CAPABILITY;
    return (isOwn ? undefined : modernError(this.original.frame, answer)) ?? answer;
  }

  /** @returns undefined if it is a task, but the client does not support tasks */
  #result(answer: Frame): Buffer | undefined {
    const { bytes, resultStart, resultEnd, resultTypeStart } = answer;
    if (isAsking(answer)) return this.#sealed(answer);
    const type = parseString(bytes, resultTypeStart, answer.resultTypeEnd);
    if (type === 'task') return this.#made(answer);
    const { task } = this.#place;
    if (task !== undefined) return this.#ofTask(viewOf(bytes, resultStart, resultEnd), task);
    const { method } = this.original.frame;
    const result =
      type === undefined
        ? this.#place.encoder.modern(answer, isCacheable(method))
        : viewOf(bytes, resultStart, resultEnd);
    return method === TOOLS_LIST ? modernToolList(result) : result;
  }

  /** The result for a call that became a task; undefined if the client's call can't be one. */
  #made({ bytes, resultStart, resultEnd }: Frame): Buffer | undefined {
    const { taskId, ...state } = taskStateOf(bytes, resultStart, resultEnd);
    const isKnown = hasTasks(this.client.capabilities);
    if (!isKnown || !isTextWithin(taskId, TEXT_LIMITS.serverId)) return undefined;
    const { table } = this.#shared;
    const claims = claimsOf(this.#place.lease, taskId, this.client);
    const task = table.keep(new Task(claims, this.client, table));
    task.follow(this.canceller, true);
    task.noted(state);
    return withTaskId(bytes, resultStart, resultEnd, task.id);
  }

  /** The result of a request about a task, with the client's id. */
  #ofTask(result: Buffer, claims: TaskClaims): Buffer {
    const { table } = this.#shared;
    const state = taskStateOf(result, 0, result.length);
    if (state.taskId !== claims.taskId) return result;
    table.find(claims)?.noted(state);
    return withTaskId(result, 0, result.length, table.idOf(claims));
  }

  #sealed(answer: Frame): Buffer {
    const { bytes, resultStart, resultEnd } = answer;
    const member = lastMember(bytes, resultStart, resultEnd, 'requestState');
    const upstream =
      member === undefined ? undefined : parseString(bytes, member.valueStart, member.valueEnd);
    if (upstream === undefined) return viewOf(bytes, resultStart, resultEnd);
    const { endpoint, sealer, suspendedCalls, ownerOf } = this.#shared;
    const state = sealer.seal({
      principal: ownerOf(this.client.principal),
      endpoint,
      request: digestOf(this.original.frame.method, parseParams(this.original.frame)),
      round: (this.#place.claims?.round ?? 0) + 1,
      expiresAt: wallClockMs() + suspendedCalls.ttlMs,
      upstream,
    });
    const set = new Map([['requestState', jsonBytes(state)]]);
    return editObject(bytes, resultStart, resultEnd, { set });
  }
}

function isAsking({ bytes, resultTypeStart, resultTypeEnd }: Frame): boolean {
  return parseString(bytes, resultTypeStart, resultTypeEnd) === 'input_required';
}

/** The request, with the server's own state instead of the sealed one. */
function withServerState(request: Frame, upstream: string | undefined): Frame {
  const { stateStart, stateEnd } = request;
  if (stateStart < 0 || upstream === undefined) return request;
  return withValue(request, stateStart, stateEnd, jsonBytes(upstream));
}
