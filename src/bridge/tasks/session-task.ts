// A task of a legacy client at a server of its own era: what the server says and asks goes to the
// session that uses the task, under the id that its client knows, on the stream of `tasks/result` where
// there is one (2025-11-25 basic/utilities/tasks).
import { after, type Timer } from '../../base/clock.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import type { ClientCapabilities } from '../../mcp/capabilities.ts';
import { MESSAGE, PROGRESS, TASK_STATUS } from '../../mcp/methods.ts';
import { withRelatedTask } from '../../mcp/related-task.ts';
import type { Downstream, Question } from '../../ports/downstream.ts';
import type { Request } from '../../ports/request.ts';
import type { Seat } from '../../ports/seat.ts';
import { answerForNobody } from '../input-requests.ts';
import { OwnedTask, type TaskIdentity, type TaskKeeper } from './owned-task.ts';
import { wantsLog } from './task-logs.ts';
import { taskStateOf, withParamsTaskId } from './task-text.ts';

/** How long a question waits for `tasks/result` of a client that reads nothing else. */
const HOLD_MS = 10_000;

/** A task that a session uses. */
export class SessionTask extends OwnedTask {
  #client: Downstream | undefined;
  /** Requests for the result that are in flight, the latest last. */
  readonly #waiting = new Set<Request>();
  readonly #questions = new Map<Question, TaskQuestion>();

  readonly #seat: Pick<Seat, 'severity' | 'isShared'>;

  /**
   * @param seat where the session's client set which logs it wants
   */
  constructor(
    identity: TaskIdentity,
    client: Downstream,
    seat: Pick<Seat, 'severity' | 'isShared'>,
    keeper: TaskKeeper,
  ) {
    super(identity, client, keeper);
    this.#client = client;
    this.#seat = seat;
  }

  override get capabilities(): ClientCapabilities {
    return this.#client?.capabilities ?? {};
  }

  override get heldBytes(): number {
    let questions = 0;
    for (const { frame } of this.#questions.values()) questions += frame.bytes.length;
    return super.heldBytes + questions;
  }

  /** A session uses the task. */
  usedBy(client: Downstream): void {
    this.#client = client;
  }

  /** A session is over. */
  left(client: Downstream): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    for (const question of [...this.#questions.values()]) question.release()?.refuseForNobody();
  }

  /** A client waits for the result: it can be asked on the stream of its request. */
  waits(request: Request): void {
    this.#waiting.add(request);
    for (const question of this.#questions.values())
      question.release()?.put(request.client, request);
  }

  /** It waits no more. */
  waitsNoMore(request: Request): void {
    this.#waiting.delete(request);
  }

  override ask(question: Question): void {
    const asked = new TaskQuestion(question, this);
    this.#questions.set(question, asked);
    this.resized();
    const request = [...this.#waiting].at(-1);
    const client = request?.client ?? this.#client;
    if (client === undefined) asked.refuseForNobody();
    else if (request !== undefined || client.isListening === true) asked.put(client, request);
    else asked.hold(HOLD_MS, () => asked.put(client, undefined));
  }

  override withdraw(question: Question, notice: Frame | undefined): void {
    const asked = this.#questions.get(question);
    this.answered(question);
    asked?.takeBack(notice);
  }

  override tell(notification: Frame): void {
    const isLog = notification.method === MESSAGE;
    if (isLog && !wantsLog(notification, this.#client, this.#seat)) return;
    const isStatus = notification.method === TASK_STATUS;
    const own = isStatus ? withParamsTaskId(notification, this.id) : notification;
    const { bytes } = withRelatedTask(own, this.claims.taskId, this.id);
    const request = [...this.#waiting].at(-1);
    if (request?.push(bytes) !== true) this.#client?.notify(bytes, this.#kindOf(notification));
    if (!isStatus) return;
    const { status, ttlMs } = taskStateOf(bytes, own.paramsStart, own.paramsEnd);
    this.noted(status, ttlMs);
  }

  /** A question is answered, or will not be. */
  answered(question: Question): void {
    this.#questions.delete(question);
    this.resized();
  }

  protected override closed(): void {
    for (const [question, asked] of [...this.#questions]) {
      asked.takeBack(undefined);
      answerForNobody(question);
    }
    this.#questions.clear();
  }

  // Newer news replace older ones while nobody reads.
  #kindOf({ method }: Frame): string | undefined {
    return method === TASK_STATUS || method === PROGRESS ? `${method} ${this.id}` : undefined;
  }
}

/** A question that the server asks for a task, as the client gets it. */
class TaskQuestion implements Question {
  readonly frame: Frame;
  readonly #question: Question;
  readonly #task: SessionTask;
  #held: Timer | undefined;
  #client: Downstream | undefined;

  constructor(question: Question, task: SessionTask) {
    this.#question = question;
    this.#task = task;
    this.frame = withRelatedTask(question.frame, task.claims.taskId, task.id);
  }

  /** Waits for somebody to ask. */
  hold(limitMs: number, then: () => void): void {
    this.#held = after(limitMs, () => {
      this.#held = undefined;
      then();
    });
  }

  /** Ends the wait, if it waits. */
  release(): this | undefined {
    if (this.#held === undefined) return undefined;
    this.#held.cancel();
    this.#held = undefined;
    return this;
  }

  /** Asks. */
  put(client: Downstream, request: Request | undefined): void {
    this.#client = client;
    client.ask(this, request);
  }

  /** It is of no use any more. */
  takeBack(notice: Frame | undefined): void {
    this.#held?.cancel();
    this.#client?.withdraw(this, notice);
  }

  /** There is nobody to ask. */
  refuseForNobody(): void {
    this.#task.answered(this.#question);
    answerForNobody(this.#question);
  }

  answer(response: Frame): void {
    this.#task.answered(this.#question);
    const { id, claims } = this.#task;
    this.#question.answer(withRelatedTask(response, id, claims.taskId));
  }

  refuse(error: WireError): void {
    this.#task.answered(this.#question);
    this.#question.refuse(error);
  }

  progress(notification: Frame): void {
    const { id, claims } = this.#task;
    this.#question.progress(withRelatedTask(notification, id, claims.taskId));
  }
}
