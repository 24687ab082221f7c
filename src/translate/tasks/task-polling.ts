// The tasks of modern clients at legacy servers: calls become tasks where a tool can be one, and the
// requests of the tasks extension are served from those of the session era (docs/protocol.md#tasks).
import { GatewayError } from '../../base/errors.ts';
import { INVALID_PARAMS, invalidParams, METHOD_NOT_FOUND } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { errorCodeOf, isObject, parseSpan, parseString } from '../../jsonrpc/parse.ts';
import { errorFrame, resultFrame } from '../../jsonrpc/response.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { TASKS_CANCEL, TASKS_GET, TASKS_RESULT } from '../../mcp/methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Backend, Lease } from '../../ports/lease.ts';
import type { Canceller, Outcome, Request } from '../../ports/request.ts';
import { modernError } from '../errors.ts';
import { type Answer, OwnRequest } from '../own-request.ts';
import type { ModernResultEncoder } from '../result-text.ts';
import { flatTask, outcomeDetail, serverRequestDetail, type TaskDetail } from './flat-task.ts';
import type { TaskTools } from './offered.ts';
import { isTerminal } from './owned-task.ts';
import { PolledTask } from './polled-task.ts';
import { claimsOf, type TaskClaims } from './task-ids.ts';
import type { TaskTable } from './task-table.ts';
import { asTask, madeTask, taskStateOf } from './task-text.ts';

const UPDATE = 'tasks/update';
const EMPTY = resultFrame(Buffer.from('{}'));
const TASK_TYPE = new Map([['resultType', Buffer.from('"task"')]]);

export interface TaskPollingContext {
  readonly backend: Pick<Backend, 'name' | 'acquireById'>;
  readonly table: TaskTable;
  readonly tools: TaskTools;
  /** How long a client may leave server requests open, in milliseconds. */
  readonly ttlMs: number;
}

/** Tasks of modern clients at one legacy server. */
export class TaskPolling {
  readonly #context: TaskPollingContext;

  constructor(context: TaskPollingContext) {
    this.#context = context;
  }

  /**
   * Sends a call, which becomes a task where its tool can be one.
   * @param capabilities those of the client that calls
   */
  async start(call: Request, lease: Lease, capabilities: ClientCapabilities): Promise<void> {
    const { tools } = this.#context;
    const support = tools.known(lease) ?? (await tools.read(lease));
    if (call.isSettled) return;
    const { bytes, nameStart, nameEnd } = call.frame;
    if (!support.has(parseString(bytes, nameStart, nameEnd) ?? '')) {
      lease.dispatch(call);
      return;
    }
    const { client } = call;
    const made = (taskId: string): PolledTask =>
      this.#keep(claimsOf(lease, taskId, client), client, capabilities);
    lease.dispatch(new TaskStart(call, made));
  }

  /** Serves `tasks/get`, `tasks/update` or `tasks/cancel`, and leaves the lease. */
  async serve(
    request: Request,
    lease: Lease,
    claims: TaskClaims,
    encoder: ModernResultEncoder,
  ): Promise<void> {
    const { client, frame } = request;
    const task = this.taskOf(claims, client);
    const inquiry = new Inquiry(task, lease);
    request.canceller = inquiry;
    const answer = await this.#answer(frame, task, inquiry);
    lease.leave();
    request.settle(outcomeOf(frame, answer, encoder));
  }

  /** The state of a task, as `tasks/get` shows it. */
  async read(task: PolledTask, lease: Lease): Promise<Answer> {
    return await this.#read(task, new Inquiry(task, lease));
  }

  /** What is kept of a task, which a client uses now. */
  taskOf(claims: TaskClaims, owner: Downstream): PolledTask {
    const known = this.#context.table.find(claims);
    if (!(known instanceof PolledTask)) return this.#keep(claims, owner, owner.capabilities);
    known.usedBy(owner.capabilities);
    return known;
  }

  #keep(claims: TaskClaims, owner: Downstream, capabilities: ClientCapabilities): PolledTask {
    const { table, ttlMs } = this.#context;
    return table.keep(new PolledTask(claims, owner, capabilities, table, ttlMs));
  }

  #answer(frame: Frame, task: PolledTask, inquiry: Inquiry): Promise<Answer> {
    switch (frame.method) {
      case UPDATE:
        return update(task, inquiry, frame.slice(frame.responsesStart, frame.responsesEnd));
      case TASKS_CANCEL:
        return cancel(task, inquiry);
      default:
        return this.#read(task, inquiry);
    }
  }

  async #read(task: PolledTask, inquiry: Inquiry): Promise<Answer> {
    const answer = await inquiry.ask(TASKS_GET);
    if (answer instanceof GatewayError) return answer;
    if (answer.resultStart < 0) {
      if (errorCodeOf(answer) === INVALID_PARAMS) task.close();
      return answer;
    }
    const { bytes, resultStart, resultEnd } = answer;
    const { status, ttlMs } = taskStateOf(bytes, resultStart, resultEnd);
    const detail = await this.#detail(task, inquiry, status);
    if (detail instanceof GatewayError) return detail;
    task.noted(detail.status, ttlMs);
    if (isTerminal(detail.status)) task.abandon();
    return resultFrame(flatTask(bytes, resultStart, resultEnd, { id: task.id, ...detail }));
  }

  /** What is said of a task in this state. */
  async #detail(
    task: PolledTask,
    inquiry: Inquiry,
    status: unknown,
  ): Promise<Omit<TaskDetail, 'id'> | GatewayError> {
    if (status === 'cancelled') return { status };
    if (isTerminal(status)) {
      const answer = await inquiry.ask(TASKS_RESULT, true);
      return answer instanceof GatewayError ? answer : outcomeDetail(answer);
    }
    const { backend } = this.#context;
    if (status === 'input_required') {
      await task.asksSoon(() => backend.acquireById(task, task.claims.at));
    }
    return task.serverRequests.size > 0
      ? serverRequestDetail(task.serverRequests)
      : { status: 'working' };
  }
}

async function update(
  task: PolledTask,
  inquiry: Inquiry,
  responses: Buffer | undefined,
): Promise<Answer> {
  if (responses === undefined || !isObject(parseSpan(responses, 0, responses.length))) {
    return errorFrame(invalidParams('inputResponses.'));
  }
  if (task.serverRequests.size === 0) {
    // Nothing is asked that it could answer: at least the task must be there.
    const answer = await inquiry.ask(TASKS_GET);
    if (answer instanceof GatewayError || answer.resultStart < 0) return answer;
  }
  task.answer(responses);
  return EMPTY;
}

/** A server of the session era refuses to cancel what is over; the extension does not. */
async function cancel(task: PolledTask, inquiry: Inquiry): Promise<Answer> {
  const answer = await inquiry.ask(TASKS_CANCEL);
  if (answer instanceof GatewayError) return answer;
  task.abandon();
  const code = answer.resultStart < 0 ? errorCodeOf(answer) : undefined;
  if (code === INVALID_PARAMS) {
    const known = await inquiry.ask(TASKS_GET);
    if (known instanceof GatewayError || known.resultStart < 0) return known;
  } else if (code !== undefined && code !== METHOD_NOT_FOUND) {
    return answer;
  }
  return EMPTY;
}

/** What a client is answered with. */
function outcomeOf(request: Frame, answer: Answer, encoder: ModernResultEncoder): Outcome {
  if (answer instanceof GatewayError) return answer;
  if (answer.resultStart >= 0) return encoder.modern(answer, false);
  return modernError(request, answer) ?? answer;
}

/** The requests that one request of a client needs, one after the other. */
class Inquiry implements Canceller {
  readonly id = undefined;
  readonly #task: PolledTask;
  readonly #lease: Lease;
  #request: OwnRequest | undefined;

  constructor(task: PolledTask, lease: Lease) {
    this.#task = task;
    this.#lease = lease;
  }

  ask(method: string, isPatient = false): Promise<Answer> {
    const { taskId } = this.#task.claims;
    const sent = (call: Canceller): void => this.#task.follow(call, false);
    this.#request = new OwnRequest(this.#task, method, { taskId }, { isPatient, sent });
    return this.#request.at(this.#lease);
  }

  cancel(): void {
    this.#request?.cancel();
  }
}

/** A call that asks the server to make a task of it. */
class TaskStart extends ForwardedRequest {
  readonly isBoundToLease = true;
  readonly #made: (taskId: string) => PolledTask;

  constructor(call: Request, made: (taskId: string) => PolledTask) {
    super(call, asTask(call.frame));
    this.#made = made;
  }

  protected override answered(answer: Frame): void {
    const member = madeTask(answer);
    if (member === undefined) {
      this.pass(answer);
      return;
    }
    const { bytes } = answer;
    const { valueStart, valueEnd } = member;
    const { status, ttlMs } = taskStateOf(bytes, valueStart, valueEnd);
    const task = this.#made(member.taskId);
    task.follow(this.canceller, true);
    task.noted(status, ttlMs);
    // What is inlined of a task in another state is shown by `tasks/get`.
    const detail = { id: task.id, status: 'working', more: TASK_TYPE };
    this.pass(resultFrame(flatTask(bytes, valueStart, valueEnd, detail)));
  }
}
