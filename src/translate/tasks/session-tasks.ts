// The tasks of legacy clients at legacy servers: finds the requests of a session that are about tasks, and
// passes them on, with the server's ids toward the server and sealed ids toward the client
// (docs/protocol.md#tasks). For clients that do not know tasks, the gateway waits for tasks that are
// required.
import { INVALID_PARAMS, methodNotFound } from '../../jsonrpc/error.ts';
import { Frame } from '../../jsonrpc/frame.ts';
import { lastMember } from '../../jsonrpc/members.ts';
import { errorCodeOf, isObject, type JsonObject, parseParams } from '../../jsonrpc/parse.ts';
import { ERRORS } from '../../mcp/errors.ts';
import {
  isTaskMethod,
  TASKS_CANCEL,
  TASKS_GET,
  TASKS_LIST,
  TASKS_RESULT,
  TOOLS_CALL,
  TOOLS_LIST,
} from '../../mcp/methods.ts';
import { relatedTaskOf, withRelatedTask } from '../../mcp/related-task.ts';
import type { Downstream } from '../../ports/downstream.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Backend, Lease, ServerIdentity } from '../../ports/lease.ts';
import { type Canceller, contain, type Outcome, type Request } from '../../ports/request.ts';
import { toolsWithoutExecution } from '../tool-lists.ts';
import { awaitTaskIfRequired } from './awaited-call.ts';
import { claimsOf, type TaskClaims } from './task.ts';
import {
  knowsTasks,
  type SharedTasks,
  sessionCapabilities,
  takesToolTasks,
} from './task-support.ts';
import {
  createdTask,
  editedTaskList,
  notAsTask,
  taskStateOf,
  withParamsTaskId,
  withTaskIdIn,
} from './task-text.ts';
import { WaitTask } from './wait-task.ts';

const TASK_MEMBER = Buffer.from('"task"');
const OF_ONE_TASK: ReadonlySet<string> = new Set([TASKS_GET, TASKS_RESULT, TASKS_CANCEL]);

/** The tasks of one session at one server. */
export class SessionTasks {
  readonly #client: Downstream;
  readonly #lease: Lease;
  readonly #backend: Pick<Backend, 'name' | 'acquireById'>;
  readonly #shared: SharedTasks;
  /** The tasks that the session has used. */
  readonly #used = new Set<WaitTask>();

  constructor(
    client: Downstream,
    lease: Lease,
    backend: Pick<Backend, 'name' | 'acquireById'>,
    shared: SharedTasks,
  ) {
    this.#client = client;
    this.#lease = lease;
    this.#backend = backend;
    this.#shared = shared;
  }

  /** The server's handshake result, with the part of its task capabilities that can be used. */
  offeredIn(handshakeResult: JsonObject): JsonObject {
    const { identity } = this.#lease;
    const { capabilities } = handshakeResult;
    if (!isObject(capabilities) || identity?.era !== 'legacy') return handshakeResult;
    return {
      ...handshakeResult,
      capabilities: sessionCapabilities(identity, this.#client.version),
    };
  }

  /**
   * Takes a request if it is about tasks.
   * @returns false if it is not
   */
  take(request: Request): boolean {
    const { identity } = this.#lease;
    if (!takesToolTasks(identity)) {
      const isTask = isTaskMethod(request.frame.method);
      if (isTask) request.settle(methodNotFound(request.frame.method));
      return isTask;
    }
    const id = relatedTaskOf(request.frame);
    const own = id === undefined ? request : this.#related(request, id);
    if (own === undefined) {
      request.settle(ERRORS.unknownTask);
      return true;
    }
    const isTaken = knowsTasks(this.#client.version)
      ? this.#withTasks(own, identity)
      : this.#withoutTasks(own);
    // If the request was changed, the changed one is sent here.
    if (!isTaken && own !== request) this.#lease.dispatch(own);
    return isTaken || own !== request;
  }

  /** The session is over. */
  close(): void {
    for (const task of this.#used) task.left(this.#client);
    this.#used.clear();
  }

  /** For a client that knows tasks. */
  #withTasks(request: Request, identity: ServerIdentity): boolean {
    const { frame } = request;
    const isCreation = frame.method === TOOLS_CALL && hasTask(frame);
    if (isCreation) this.#create(request);
    else if (isTaskMethod(frame.method)) this.#aboutTasks(request, identity);
    else return false;
    return true;
  }

  #create(request: Request): void {
    const keep = (taskId: string): WaitTask =>
      this.#keep(claimsOf(this.#lease, taskId, this.#client));
    this.#lease.dispatch(new TaskCreation(request, keep));
  }

  #aboutTasks(request: Request, identity: ServerIdentity): void {
    const { method } = request.frame;
    const offered = sessionCapabilities(identity, this.#client.version)['tasks'] as object;
    if (OF_ONE_TASK.has(method) && (method !== TASKS_CANCEL || 'cancel' in offered)) {
      this.#aboutTask(request);
    } else if (method === TASKS_LIST && 'list' in offered) {
      const edit = (answer: Frame): Frame | Promise<Frame> =>
        editedTaskList(answer, (taskId) => this.#idOf(taskId));
      this.#lease.dispatch(new EditedList(request, edit));
    } else {
      request.settle(methodNotFound(method));
    }
  }

  #aboutTask(request: Request): void {
    const claims = this.#claimsIn(parseParams(request.frame)['taskId']);
    const isHere = claims?.at === this.#lease.at;
    const lease = isHere
      ? this.#lease
      : claims && this.#backend.acquireById(this.#client, claims.at);
    if (claims === undefined || lease === undefined) {
      request.settle(ERRORS.unknownTask);
      return;
    }
    const task = this.#taskOf(claims);
    lease.dispatch(new TaskRequest(request, task, () => isHere || lease.leave()));
  }

  /**
   * A request with the id of its task, changed to the server's id.
   * @returns undefined if the task does not belong to the client
   */
  #related(request: Request, id: string): Request | undefined {
    const claims = this.#claimsIn(id);
    if (claims === undefined) return undefined;
    return new ForwardedRequest(request, withRelatedTask(request.frame, id, claims.taskId));
  }

  /** For a client that does not know tasks: the gateway waits for tasks that a tool requires. */
  #withoutTasks(request: Request): boolean {
    const { frame } = request;
    if (frame.method === TOOLS_LIST) {
      this.#lease.dispatch(new EditedList(request, toolsWithoutExecution));
    } else if (frame.method === TOOLS_CALL) {
      const call = hasTask(frame) ? new ForwardedRequest(request, notAsTask(frame)) : request;
      contain(request, awaitTaskIfRequired(call, this.#lease, this.#shared));
    } else if (isTaskMethod(frame.method)) {
      request.settle(methodNotFound(frame.method));
    } else {
      return false;
    }
    return true;
  }

  /** The task of an id that the client sent. */
  #claimsIn(id: unknown): TaskClaims | undefined {
    const claims = this.#shared.table.open(id, this.#client.principal);
    return claims?.server === this.#backend.name ? claims : undefined;
  }

  #keep(claims: TaskClaims): WaitTask {
    for (const used of this.#used) if (used.isClosed) this.#used.delete(used);
    const { table } = this.#shared;
    const task = table.keep(new WaitTask(claims, this.#client, this.#lease, table));
    this.#used.add(task);
    return task;
  }

  #taskOf(claims: TaskClaims): WaitTask {
    const known = this.#shared.table.find(claims);
    if (!(known instanceof WaitTask)) return this.#keep(claims);
    known.usedBy(this.#client);
    this.#used.add(known);
    return known;
  }

  /** The client's id of a task in a list; undefined if it belongs to another principal. */
  #idOf(taskId: string): string | undefined {
    const claims = claimsOf(this.#lease, taskId, this.#client);
    const { table } = this.#shared;
    const owner = table.find(claims)?.principal.key;
    const isOwn = owner === undefined ? !this.#lease.isShared : owner === claims.principal;
    return isOwn ? table.idOf(claims) : undefined;
  }
}

/** A call that asks the server to run it as a task. */
class TaskCreation extends ForwardedRequest {
  readonly isBoundToLease = true;
  readonly #keep: (taskId: string) => WaitTask;

  /** @param keep keeps the task that the server made */
  constructor(request: Request, keep: (taskId: string) => WaitTask) {
    super(request);
    this.#keep = keep;
  }

  protected override answered(answer: Frame): void {
    const created = createdTask(answer);
    if (created === undefined) {
      this.pass(answer);
      return;
    }
    const task = this.#keep(created.taskId);
    this.pass(task.toClient(withTaskIdIn(answer, created.start, created.end, task.id)));
    // Messages about the task may follow directly after the answer.
    task.follow(this.canceller, true);
    task.noted(created);
  }
}

/** `tasks/get`, `tasks/result` or `tasks/cancel` for a task. */
class TaskRequest extends ForwardedRequest {
  readonly isPatient: boolean;
  readonly #task: WaitTask;
  readonly #done: () => void;

  /** @param done called when it is over */
  constructor(request: Request, task: WaitTask, done: () => void) {
    super(request, withParamsTaskId(request.frame, task.claims.taskId));
    this.isPatient = request.frame.method === TASKS_RESULT;
    this.#task = task;
    this.#done = done;
    if (this.isPatient) task.waits(this);
  }

  // The server may send requests while it works on this, even if another request made the task.
  sent(call: Canceller): void {
    this.#task.follow(call, false);
  }

  override settle(outcome: Outcome): void {
    if (outcome instanceof Frame && outcome.resultStart < 0) this.#note(errorCodeOf(outcome));
    super.settle(outcome);
  }

  protected override answered(answer: Frame): void {
    const { bytes, resultStart, resultEnd } = answer;
    let own = answer;
    if (this.isPatient) {
      this.#task.settled();
    } else {
      this.#task.noted(taskStateOf(bytes, resultStart, resultEnd));
      own = withTaskIdIn(answer, resultStart, resultEnd, this.#task.id);
    }
    this.pass(this.#task.toClient(own));
  }

  protected override ended(): void {
    this.#task.waitsNoMore(this);
    this.#done();
  }

  /** Notes what an error says about the task. */
  #note(code: number | undefined): void {
    // It is the outcome of the task, or says that the task can no longer be cancelled.
    const isKnown = this.isPatient || this.frame.method === TASKS_CANCEL;
    if (code !== INVALID_PARAMS) {
      if (this.isPatient) this.#task.settled();
    } else if (!isKnown) {
      this.#task.close();
    }
  }
}

/** A list that is changed for the client. */
class EditedList extends ForwardedRequest {
  readonly #edit: (answer: Frame) => Frame | Promise<Frame>;

  constructor(request: Request, edit: (answer: Frame) => Frame | Promise<Frame>) {
    super(request);
    this.#edit = edit;
  }

  protected override answered(answer: Frame): void {
    this.pass(this.#edit(answer));
  }
}

/** Whether a call asks to run as a task. */
function hasTask({ bytes, paramsStart, paramsEnd }: Frame): boolean {
  if (paramsStart < 0 || !bytes.includes(TASK_MEMBER)) return false;
  return lastMember(bytes, paramsStart, paramsEnd, 'task') !== undefined;
}
