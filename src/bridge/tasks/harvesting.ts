// The tasks of modern clients at legacy servers: calls become tasks where a tool can be one, and the
// requests of the tasks extension are served from those of the session era (docs/protocol.md#tasks).
import { GatewayError } from '../../base/errors.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { errorCodeOf, isObject, parseSpan, parseString } from '../../jsonrpc/parse.ts';
import { errorFrame, resultFrame } from '../../jsonrpc/response.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { TASKS_CANCEL, TASKS_GET, TASKS_RESULT } from '../../mcp/methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Canceller, Outcome, Request } from '../../ports/request.ts';
import type { Backend, Seat } from '../../ports/seat.ts';
import { modernError } from '../errors.ts';
import { type Answer, OwnRequest } from '../own-request.ts';
import type { ResultDress } from '../result-text.ts';
import { flatTask, outcomeDetail, questionDetail, type TaskDetail } from './flat-task.ts';
import { HarvestedTask } from './harvested-task.ts';
import type { TaskTools } from './offered.ts';
import { isTerminal } from './owned-task.ts';
import type { TaskClaims } from './task-ids.ts';
import type { TaskTable } from './task-table.ts';
import { asTask, madeTask, taskStateOf } from './task-text.ts';

const UPDATE = 'tasks/update';
const EMPTY = resultFrame(Buffer.from('{}'));
const TASK_TYPE = new Map([['resultType', Buffer.from('"task"')]]);

export interface HarvestingContext {
  readonly backend: Pick<Backend, 'name' | 'placeAt'>;
  readonly table: TaskTable;
  readonly tools: TaskTools;
  /** How long a client may leave questions open, in milliseconds. */
  readonly ttlMs: number;
}

/** Tasks of modern clients at one legacy server. */
export class Harvesting {
  readonly #context: HarvestingContext;

  constructor(context: HarvestingContext) {
    this.#context = context;
  }

  /**
   * Sends a call, which becomes a task where its tool can be one.
   * @param capabilities those of the client that calls
   */
  async start(call: Request, seat: Seat, capabilities: ClientCapabilities): Promise<void> {
    const { tools } = this.#context;
    const support = tools.known(seat) ?? (await tools.read(seat));
    if (call.isSettled) return;
    const { bytes, nameStart, nameEnd } = call.frame;
    if (!support.has(parseString(bytes, nameStart, nameEnd) ?? '')) {
      seat.dispatch(call);
      return;
    }
    const made = (taskId: string): HarvestedTask => {
      const { name: server } = this.#context.backend;
      const principal = call.client.principal.key;
      return this.#keep({ server, at: seat.at, taskId, principal }, call.client, capabilities);
    };
    seat.dispatch(new TaskStart(call, made));
  }

  /** Serves `tasks/get`, `tasks/update` or `tasks/cancel`, and leaves the place. */
  async serve(request: Request, seat: Seat, claims: TaskClaims, dress: ResultDress): Promise<void> {
    const { client, frame } = request;
    const task = this.taskOf(claims, client);
    const inquiry = new Inquiry(task, seat);
    request.canceller = inquiry;
    const answer = await this.#answer(frame, task, inquiry);
    seat.leave();
    request.settle(outcomeOf(frame, answer, dress));
  }

  /** The state of a task, as `tasks/get` shows it. */
  async read(task: HarvestedTask, seat: Seat): Promise<Answer> {
    return await this.#read(task, new Inquiry(task, seat));
  }

  /** What is kept of a task, which a client uses now. */
  taskOf(claims: TaskClaims, owner: Downstream): HarvestedTask {
    const known = this.#context.table.find(claims);
    if (!(known instanceof HarvestedTask)) return this.#keep(claims, owner, owner.capabilities);
    known.usedBy(owner.capabilities);
    return known;
  }

  #keep(claims: TaskClaims, owner: Downstream, capabilities: ClientCapabilities): HarvestedTask {
    const { table, ttlMs } = this.#context;
    const task = new HarvestedTask(table.identity(claims), owner, capabilities, table, ttlMs);
    table.keep(task);
    return task;
  }

  #answer(frame: Frame, task: HarvestedTask, inquiry: Inquiry): Promise<Answer> {
    switch (frame.method) {
      case UPDATE:
        return update(task, inquiry, frame.slice(frame.responsesStart, frame.responsesEnd));
      case TASKS_CANCEL:
        return cancel(task, inquiry);
      default:
        return this.#read(task, inquiry);
    }
  }

  async #read(task: HarvestedTask, inquiry: Inquiry): Promise<Answer> {
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
    task: HarvestedTask,
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
      await task.asksSoon(() => backend.placeAt(task, task.claims.at));
    }
    return task.questions.size > 0 ? questionDetail(task.questions) : { status: 'working' };
  }
}

async function update(
  task: HarvestedTask,
  inquiry: Inquiry,
  responses: Buffer | undefined,
): Promise<Answer> {
  if (responses === undefined || !isObject(parseSpan(responses, 0, responses.length))) {
    return errorFrame({ code: INVALID_PARAMS, message: 'Invalid params: inputResponses.' });
  }
  if (task.questions.size === 0) {
    // Nothing is asked that it could answer: at least the task must be there.
    const answer = await inquiry.ask(TASKS_GET);
    if (answer instanceof GatewayError || answer.resultStart < 0) return answer;
  }
  task.answer(responses);
  return EMPTY;
}

/** A server of the session era refuses to cancel what is over; the extension does not. */
async function cancel(task: HarvestedTask, inquiry: Inquiry): Promise<Answer> {
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
function outcomeOf(request: Frame, answer: Answer, dress: ResultDress): Outcome {
  if (answer instanceof GatewayError) return answer;
  if (answer.resultStart >= 0) return dress.modern(answer, false);
  return modernError(request, answer) ?? answer;
}

/** The requests that one request of a client needs, one after the other. */
class Inquiry implements Canceller {
  readonly id = undefined;
  readonly #task: HarvestedTask;
  readonly #seat: Seat;
  #request: OwnRequest | undefined;

  constructor(task: HarvestedTask, seat: Seat) {
    this.#task = task;
    this.#seat = seat;
  }

  ask(method: string, isPatient = false): Promise<Answer> {
    const { taskId } = this.#task.claims;
    const sent = (call: Canceller): void => this.#task.follow(call, false);
    this.#request = new OwnRequest(this.#task, method, { taskId }, { isPatient, sent });
    return this.#request.at(this.#seat);
  }

  cancel(): void {
    this.#request?.cancel();
  }
}

/** A call that asks the server to make a task of it. */
class TaskStart extends ForwardedRequest {
  readonly isBoundToSeat = true;
  readonly #made: (taskId: string) => HarvestedTask;

  constructor(call: Request, made: (taskId: string) => HarvestedTask) {
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
