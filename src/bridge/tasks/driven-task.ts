// A call of a tool that only runs as a task, for a client that knows no tasks: the gateway makes the
// task, waits for its result, and answers the call with that (docs/protocol.md#tasks).
import { GatewayError } from '../../base/errors.ts';
import { INTERNAL_ERROR, type WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { parseString } from '../../jsonrpc/parse.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { MESSAGE, TASK_STATUS, TASKS_CANCEL, TASKS_RESULT } from '../../mcp/methods.ts';
import { withoutRelatedTask } from '../../mcp/related-task.ts';
import type { Downstream, Question } from '../../ports/downstream.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Principal } from '../../ports/principal.ts';
import type { Request } from '../../ports/request.ts';
import type { Seat } from '../../ports/seat.ts';
import type { FollowedTask, TaskFollower } from '../../ports/task.ts';
import { OwnRequest } from '../own-request.ts';
import { OwnedTask } from './owned-task.ts';
import { wantsLog } from './task-logs.ts';
import type { TaskState } from './task-state.ts';
import type { TaskTable } from './task-table.ts';
import { asTask, madeTask, taskStateOf } from './task-text.ts';

/** Where a call is made a task of. */
interface DrivenPlace {
  readonly seat: Seat;
  readonly server: string;
  readonly table: TaskTable;
}

/** A call that the gateway makes a task of, and waits for. */
export class DrivenTask extends ForwardedRequest implements TaskFollower {
  readonly isBoundToSeat = true;
  readonly #place: DrivenPlace;
  readonly #questions = new Map<Question, Question>();
  #taskId: string | undefined;
  #followed: FollowedTask | undefined;
  #result: OwnRequest | undefined;
  #isOver = false;

  constructor(request: Request, place: DrivenPlace) {
    super(request, asTask(request.frame));
    this.#place = place;
  }

  get principal(): Principal {
    return this.client.principal;
  }

  get version(): string {
    return this.client.version;
  }

  get capabilities(): ClientCapabilities {
    return this.client.capabilities;
  }

  get info(): unknown {
    return this.client.info;
  }

  start(): void {
    this.#place.seat.dispatch(this);
  }

  protected override answered(answer: Frame): void {
    const task = madeTask(answer);
    if (task === undefined) {
      this.pass(answer);
      return;
    }
    const { ttlMs } = taskStateOf(answer.bytes, task.valueStart, task.valueEnd);
    this.#taskId = task.taskId;
    keepOwner(this.#place, this.#taskId, this.client, ttlMs);
    this.#followed = this.canceller?.follow?.(this.#taskId, this, true);
    void this.#wait(this.#taskId);
  }

  async #wait(taskId: string): Promise<void> {
    this.#result = new OwnRequest(this.client, TASKS_RESULT, { taskId }, { isPatient: true });
    const outcome = await this.#result.at(this.#place.seat);
    if (this.#isOver) return;
    if (outcome instanceof GatewayError) {
      // The server may work on it still, but nobody could take the result.
      this.#cancelTask();
      this.pass(outcome);
    } else {
      this.pass(withoutRelatedTask(outcome));
    }
  }

  override cancel(notice: Frame | undefined): void {
    super.cancel(notice);
    if (this.#result === undefined) return;
    this.#result.cancel();
    this.#cancelTask();
  }

  ask(question: Question): void {
    const plain = new PlainQuestion(question, () => this.#questions.delete(question));
    this.#questions.set(question, plain);
    this.client.ask(plain, this.original);
  }

  withdraw(question: Question, notice: Frame | undefined): void {
    const plain = this.#questions.get(question);
    this.#questions.delete(question);
    if (plain !== undefined) this.client.withdraw(plain, notice);
  }

  tell(notification: Frame): void {
    if (notification.method === TASK_STATUS) return;
    const isLog = notification.method === MESSAGE;
    if (isLog && !wantsLog(notification, this.client, this.#place.seat)) return;
    this.push(withoutRelatedTask(notification).bytes);
  }

  notify(): void {
    // A server tells of a task only what `tell` takes.
  }

  lost(): void {
    // The request for the result fails by itself.
    this.#followed = undefined;
  }

  protected override ended(): void {
    this.#isOver = true;
    this.#followed?.stop();
    this.#followed = undefined;
    const open = [...this.#questions];
    this.#questions.clear();
    for (const [question, plain] of open) {
      this.client.withdraw(plain, undefined);
      question.refuse({ code: INTERNAL_ERROR, message: 'The call is over.' });
    }
  }

  #cancelTask(): void {
    if (this.#taskId === undefined) return;
    const params = { taskId: this.#taskId };
    void new OwnRequest(this.client, TASKS_CANCEL, params).at(this.#place.seat);
  }
}

/**
 * Sends a call of a client that knows no tasks: a tool that only runs as one is run for it.
 * @param server its name
 */
export async function driveIfRequired(
  call: Request,
  seat: Seat,
  server: string,
  { table, tools }: TaskState,
): Promise<void> {
  const support = tools.known(seat) ?? (await tools.read(seat));
  if (call.isSettled) return;
  const { bytes, nameStart, nameEnd } = call.frame;
  const name = parseString(bytes, nameStart, nameEnd) ?? '';
  if (support.get(name) === 'required') new DrivenTask(call, { seat, server, table }).start();
  else seat.dispatch(call);
}

/** Whose the task is, whose owner has no id of it: an older id of somebody else must not mean it. */
function keepOwner(
  { seat, server, table }: DrivenPlace,
  taskId: string,
  owner: Downstream,
  ttlMs: unknown,
): void {
  const claims = { server, at: seat.at, taskId, principal: owner.principal.key };
  const task = new OwnedTask(table.identity(claims), owner, table);
  table.keep(task);
  task.noted(undefined, ttlMs);
}

/** A question with no word of the task that it is for. */
class PlainQuestion implements Question {
  readonly frame: Frame;
  readonly #question: Question;
  readonly #settled: () => void;

  constructor(question: Question, settled: () => void) {
    this.frame = withoutRelatedTask(question.frame);
    this.#question = question;
    this.#settled = settled;
  }

  answer(response: Frame): void {
    this.#settled();
    this.#question.answer(response);
  }

  refuse(error: WireError): void {
    this.#settled();
    this.#question.refuse(error);
  }

  progress(notification: Frame): void {
    this.#question.progress(notification);
  }
}
