// The tasks of modern clients at legacy servers: calls become tasks if the tool supports it, and requests of
// the tasks extension are served with legacy requests (docs/protocol.md#tasks).

import { GatewayError } from '../../base/errors.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { EMPTY_OBJECT } from '../../jsonrpc/json-text.ts';
import { errorCodeOf, isObject, parseSpan } from '../../jsonrpc/parse.ts';
import { errorFrame, resultFrame } from '../../jsonrpc/response.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { ERRORS } from '../../mcp/errors.ts';
import { TASKS_CANCEL, TASKS_GET, TASKS_RESULT, TASKS_UPDATE } from '../../mcp/methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Backend, Lease } from '../../ports/lease.ts';
import type { Canceller, Outcome, Request } from '../../ports/request.ts';
import { modernError } from '../errors.ts';
import { type Answer, OwnRequest } from '../own-request.ts';
import type { ModernResultEncoder } from '../result-text.ts';
import { PollTask } from './poll-task.ts';
import { claimsOf, isTerminal, type TaskClaims, type TaskTable } from './task.ts';
import { type SharedTasks, type TaskTools, withTaskSupport } from './task-support.ts';
import {
  asTask,
  createdTask,
  flatTask,
  inputRequiredDetail,
  outcomeDetail,
  type TaskDetail,
  taskStateOf,
} from './task-text.ts';

const EMPTY = resultFrame(EMPTY_OBJECT);
const TASK_TYPE = new Map([['resultType', Buffer.from('"task"')]]);

/** Tasks of modern clients at one legacy server. */
export class PolledTasks {
  readonly backend: Pick<Backend, 'name' | 'acquireById'>;
  readonly table: TaskTable;
  readonly #tools: TaskTools;
  readonly #ttlMs: number;

  /** @param ttlMs how long a client may leave server requests unanswered, in milliseconds */
  constructor(
    backend: Pick<Backend, 'name' | 'acquireById'>,
    { table, tools }: SharedTasks,
    ttlMs: number,
  ) {
    this.backend = backend;
    this.table = table;
    this.#tools = tools;
    this.#ttlMs = ttlMs;
  }

  /**
   * Sends a call, which becomes a task if its tool supports it.
   * @param capabilities of the client
   */
  start(call: Request, lease: Lease, capabilities: ClientCapabilities): Promise<void> {
    const { client } = call;
    const keep = (taskId: string): PollTask =>
      this.#keep(claimsOf(lease, taskId, client), client, capabilities);
    return withTaskSupport(call, lease, this.#tools, (support) =>
      lease.dispatch(support === 'forbidden' ? call : new TaskStart(call, keep)),
    );
  }

  /** Serves `tasks/get`, `tasks/update` or `tasks/cancel`, and gives up the lease. */
  async serve(
    request: Request,
    lease: Lease,
    claims: TaskClaims,
    encoder: ModernResultEncoder,
  ): Promise<void> {
    const { client, frame } = request;
    const inquiry = this.inquiry(this.taskOf(claims, client), lease);
    request.canceller = inquiry;
    const answer = await inquiry.answer(frame);
    lease.leave();
    request.settle(outcomeOf(frame, answer, encoder));
  }

  /** Asks the server about a task. */
  inquiry(task: PollTask, lease: Lease): TaskInquiry {
    return new TaskInquiry(task, lease, () => this.backend.acquireById(task, task.claims.at));
  }

  /** The task that a client uses now. */
  taskOf(claims: TaskClaims, owner: Downstream): PollTask {
    const known = this.table.find(claims);
    if (!(known instanceof PollTask)) return this.#keep(claims, owner, owner.capabilities);
    known.usedBy(owner.capabilities);
    return known;
  }

  #keep(claims: TaskClaims, owner: Downstream, capabilities: ClientCapabilities): PollTask {
    return this.table.keep(new PollTask(claims, owner, capabilities, this.table, this.#ttlMs));
  }
}

/** The outcome for a client. */
function outcomeOf(request: Frame, answer: Answer, encoder: ModernResultEncoder): Outcome {
  if (answer instanceof GatewayError) return answer;
  if (answer.resultStart >= 0) return encoder.modern(answer, false);
  return modernError(request, answer) ?? answer;
}

/** One request of a client about a task, with the requests to the server that it needs, one after another. */
class TaskInquiry implements Canceller {
  readonly id = undefined;
  readonly #task: PollTask;
  readonly #lease: Lease;
  readonly #acquire: () => Lease | undefined;
  #request: OwnRequest | undefined;

  /** @param acquire gives another lease of the instance with the task */
  constructor(task: PollTask, lease: Lease, acquire: () => Lease | undefined) {
    this.#task = task;
    this.#lease = lease;
    this.#acquire = acquire;
  }

  answer(frame: Frame): Promise<Answer> {
    switch (frame.method) {
      case TASKS_UPDATE:
        return this.#update(frame.slice(frame.responsesStart, frame.responsesEnd));
      case TASKS_CANCEL:
        return this.#cancelTask();
      default:
        return this.state();
    }
  }

  /** The state of the task, as `tasks/get` shows it. */
  async state(): Promise<Answer> {
    const task = this.#task;
    const answer = await this.#ask(TASKS_GET);
    if (answer instanceof GatewayError) return answer;
    if (answer.resultStart < 0) {
      if (errorCodeOf(answer) === INVALID_PARAMS) task.close();
      return answer;
    }
    const { bytes, resultStart, resultEnd } = answer;
    const { status, ttlMs } = taskStateOf(bytes, resultStart, resultEnd);
    const detail = await this.#detail(status);
    if (detail instanceof GatewayError) return detail;
    task.noted({ status: detail.status, ttlMs });
    if (isTerminal(detail.status)) task.abandon();
    return resultFrame(flatTask(bytes, resultStart, resultEnd, { id: task.id, ...detail }));
  }

  cancel(): void {
    this.#request?.cancel();
  }

  #ask(method: string, isPatient = false): Promise<Answer> {
    const { taskId } = this.#task.claims;
    const sent = (call: Canceller): void => this.#task.follow(call, false);
    this.#request = new OwnRequest(this.#task, method, { taskId }, { isPatient, sent });
    return this.#request.at(this.#lease);
  }

  /** The details of a task in this state. */
  async #detail(status: unknown): Promise<Omit<TaskDetail, 'id'> | GatewayError> {
    const task = this.#task;
    if (status === 'cancelled') return { status };
    if (isTerminal(status)) {
      const answer = await this.#ask(TASKS_RESULT, true);
      return answer instanceof GatewayError ? answer : outcomeDetail(answer);
    }
    if (status === 'input_required') await task.asksSoon(this.#acquire);
    return task.serverRequests.size > 0
      ? inputRequiredDetail(task.serverRequests)
      : { status: 'working' };
  }

  async #update(responses: Buffer | undefined): Promise<Answer> {
    if (responses === undefined || !isObject(parseSpan(responses, 0, responses.length))) {
      return errorFrame(ERRORS.badInputResponses);
    }
    if (this.#task.serverRequests.size === 0) {
      // There are no server requests that it could answer, but the task must exist.
      const answer = await this.#ask(TASKS_GET);
      if (answer instanceof GatewayError || answer.resultStart < 0) return answer;
    }
    this.#task.answer(responses);
    return EMPTY;
  }

  /** A legacy server refuses to cancel a finished task; the extension does not. */
  async #cancelTask(): Promise<Answer> {
    const answer = await this.#ask(TASKS_CANCEL);
    if (answer instanceof GatewayError) return answer;
    this.#task.abandon();
    const code = answer.resultStart < 0 ? errorCodeOf(answer) : undefined;
    if (code === INVALID_PARAMS) {
      const known = await this.#ask(TASKS_GET);
      if (known instanceof GatewayError || known.resultStart < 0) return known;
    } else if (code !== undefined && code !== METHOD_NOT_FOUND) {
      return answer;
    }
    return EMPTY;
  }
}

/** A call that asks the server to run it as a task. */
class TaskStart extends ForwardedRequest {
  readonly isBoundToLease = true;
  readonly #keep: (taskId: string) => PollTask;

  constructor(call: Request, keep: (taskId: string) => PollTask) {
    super(call, asTask(call.frame));
    this.#keep = keep;
  }

  protected override answered(answer: Frame): void {
    const created = createdTask(answer);
    if (created === undefined) {
      this.pass(answer);
      return;
    }
    const task = this.#keep(created.taskId);
    task.follow(this.canceller, true);
    task.noted(created);
    // Details of other states are shown by `tasks/get`.
    const detail = { id: task.id, status: 'working', more: TASK_TYPE };
    this.pass(resultFrame(flatTask(answer.bytes, created.start, created.end, detail)));
  }
}
