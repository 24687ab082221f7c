// One call of a modern client at a modern server: passed on as it is, except that the state of a
// retry is sealed toward the client, so that only its owner can bring it back
// (docs/protocol.md#states-between-modern-peers).
import { wallClockMs } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { INTERNAL_ERROR, type WireError } from '../jsonrpc/error.ts';
import { Frame } from '../jsonrpc/frame.ts';
import { editObject, lastMember } from '../jsonrpc/members.ts';
import { errorCodeOf, parseParams, parseString } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { withValue } from '../jsonrpc/splice.ts';
import { viewOf } from '../jsonrpc/text-walk.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import { hasTasks, isCacheable } from '../mcp/modern-methods.ts';
import { ForwardedRequest } from '../ports/forwarded-request.ts';
import type { Lease } from '../ports/lease.ts';
import type { Principal } from '../ports/principal.ts';
import type { Outcome, Request } from '../ports/request.ts';
import { SilentClient, UNASKABLE } from '../ports/silent-client.ts';
import { MISSING_CAPABILITY, modernError } from './errors.ts';
import { tooManyServerRequests } from './input-requests.ts';
import { digestOf, type StateClaims, type StateSealer } from './request-state.ts';
import type { ModernResultEncoder } from './result-text.ts';
import { madeTaskResult, taskResult } from './tasks/forwarded-task.ts';
import type { TaskClaims } from './tasks/task-ids.ts';
import type { TaskTable } from './tasks/task-table.ts';
import { withParamsTaskId } from './tasks/task-text.ts';
import { modernToolList } from './tool-lists.ts';

const UNASKED_TASK: WireError = {
  code: INTERNAL_ERROR,
  message: 'The server returned a task, but the client did not declare the tasks extension.',
};

export interface ModernToModernContext {
  readonly endpoint: string;
  readonly server: string;
  readonly lease: Lease;
  readonly encoder: ModernResultEncoder;
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

/** A modern client's call at a modern server. */
export class ModernToModern extends ForwardedRequest {
  /** A server that was told to cancel is remembered with it, so it is kept small. */
  declare readonly client: SilentClient;
  readonly #context: ModernToModernContext;

  constructor(original: Request, context: ModernToModernContext) {
    const { frame, client } = original;
    const { claims, task } = context;
    super(
      original,
      task === undefined
        ? withServerState(frame, claims?.upstream)
        : withParamsTaskId(frame, task.taskId),
      new SilentClient(client.principal, client, UNASKABLE.modernServer, client.logThreshold),
    );
    this.#context = context;
  }

  start(): void {
    this.#context.lease.dispatch(this);
  }

  override settle(outcome: Outcome): void {
    const isError = outcome instanceof Frame && outcome.resultStart < 0;
    super.settle(isError ? this.#error(outcome) : outcome);
    if (outcome instanceof GatewayError) this.client.letGo();
  }

  protected override answered(answer: Frame): void {
    const excess = isAsking(answer)
      ? tooManyServerRequests(answer, this.#context.server)
      : undefined;
    const outcome = excess ?? this.#result(answer) ?? UNASKED_TASK;
    if (Buffer.isBuffer(outcome) && isCacheable(this.original.frame.method)) {
      this.#context.keep(outcome);
    }
    this.pass(outcome);
  }

  protected override ended(): void {
    this.#context.done();
  }

  override cancel(notice: Frame | undefined): void {
    super.cancel(notice);
    this.client.letGo();
  }

  #error(answer: Frame): Outcome {
    const isOwn = errorCodeOf(answer) === MISSING_CAPABILITY;
    return (isOwn ? undefined : modernError(this.original.frame, answer)) ?? answer;
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
    const { method } = this.original.frame;
    const result =
      type === undefined
        ? this.#context.encoder.modern(answer, isCacheable(method))
        : viewOf(bytes, resultStart, resultEnd);
    return method === TOOLS_LIST ? modernToolList(result) : result;
  }

  #made(answer: Frame): Buffer | undefined {
    if (!hasTasks(this.client.capabilities)) return undefined;
    const { server, lease, table } = this.#context;
    return madeTaskResult(answer, this.client, { server, at: lease.at, table }, this.canceller);
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
      request: digestOf(this.original.frame.method, parseParams(this.original.frame)),
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
