// What of a legacy session is about tasks: which of its requests are, which task each means, and what
// is kept for the session's clients that know no tasks.

import { methodNotFound } from '../../jsonrpc/error.ts';
import type { Frame } from '../../jsonrpc/frame.ts';
import { lastMember } from '../../jsonrpc/members.ts';
import { isObject, type JsonObject, parseParams } from '../../jsonrpc/parse.ts';
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
import type { Backend, Lease } from '../../ports/lease.ts';
import { contain, type Request } from '../../ports/request.ts';
import { toolsWithoutExecution } from '../tool-lists.ts';
import { awaitTaskIfRequired } from './awaited-task.ts';
import { knowsTasks, sessionCapabilities, takesToolTasks } from './offered.ts';
import { TaskCreation, TaskList, TaskRequest } from './session-requests.ts';
import { SessionTask } from './session-task.ts';
import { claimsOf, type TaskClaims } from './task-ids.ts';
import { type TaskState, UNKNOWN_TASK } from './task-table.ts';
import { notAsTask } from './task-text.ts';

const TASK_MEMBER = Buffer.from('"task"');
const OF_ONE_TASK: ReadonlySet<string> = new Set([TASKS_GET, TASKS_RESULT, TASKS_CANCEL]);

/** Tasks of one session at one server. */
export class SessionTasks {
  readonly #client: Downstream;
  readonly #lease: Lease;
  readonly #backend: Pick<Backend, 'name' | 'acquireById'>;
  readonly #state: TaskState;
  /** Tasks that the session has used. */
  readonly #used = new Set<SessionTask>();

  constructor(
    client: Downstream,
    lease: Lease,
    backend: Pick<Backend, 'name' | 'acquireById'>,
    state: TaskState,
  ) {
    this.#client = client;
    this.#lease = lease;
    this.#backend = backend;
    this.#state = state;
  }

  /** What the server said of itself, with what of its tasks can be used. */
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
   * Takes a request, if it is about tasks.
   * @returns false: it is not
   */
  take(request: Request): boolean {
    const { method } = request.frame;
    const { identity } = this.#lease;
    if (identity === undefined || !takesToolTasks(identity)) {
      if (isTaskMethod(method)) request.settle(methodNotFound(method));
      return isTaskMethod(method);
    }
    const id = relatedTaskOf(request.frame);
    const own = id === undefined ? request : this.#related(request, id);
    if (own === undefined) {
      request.settle(UNKNOWN_TASK);
      return true;
    }
    return this.#takeOwn(own) || this.#passed(request, own);
  }

  /** Takes a request that is about tasks of the client's own, if about any. */
  #takeOwn(request: Request): boolean {
    const { method } = request.frame;
    const { identity } = this.#lease;
    if (identity === undefined || !knowsTasks(this.#client.version)) {
      return this.#withoutTasks(request);
    }
    const offered = sessionCapabilities(identity, this.#client.version)['tasks'];
    if (isTaskMethod(method)) this.#aboutTasks(request, offered as object);
    else if (method === TOOLS_CALL && hasTask(request.frame)) this.#create(request);
    else return false;
    return true;
  }

  /** One that was changed is sent from here. */
  #passed(request: Request, own: Request): boolean {
    if (own !== request) this.#lease.dispatch(own);
    return own !== request;
  }

  /** The session is over. */
  close(): void {
    for (const task of this.#used) task.left(this.#client);
    this.#used.clear();
  }

  #aboutTasks(request: Request, offered: object): void {
    const { frame } = request;
    const { method } = frame;
    if (OF_ONE_TASK.has(method) && (method !== TASKS_CANCEL || 'cancel' in offered)) {
      const { taskId } = parseParams(frame);
      const claims = this.#state.table.open(taskId, this.#client.principal);
      if (claims === undefined || claims.server !== this.#backend.name) {
        request.settle(UNKNOWN_TASK);
      } else this.#request(request, claims);
    } else if (method === TASKS_LIST && 'list' in offered) {
      this.#lease.dispatch(new TaskList(request, (taskId) => this.#idOf(taskId)));
    } else {
      request.settle(methodNotFound(method));
    }
  }

  #request(request: Request, claims: TaskClaims): void {
    const isHere = claims.at === this.#lease.at;
    const lease = isHere ? this.#lease : this.#backend.acquireById(this.#client, claims.at);
    if (lease === undefined) {
      request.settle(UNKNOWN_TASK);
      return;
    }
    const task = this.#taskOf(claims);
    lease.dispatch(new TaskRequest(request, task, () => isHere || lease.leave()));
  }

  #create(request: Request): void {
    this.#lease.dispatch(
      new TaskCreation(request, (taskId) =>
        this.#keep(claimsOf(this.#lease, taskId, this.#client)),
      ),
    );
  }

  /**
   * A request that says that it belongs to a task, with the id that the server knows.
   * @returns undefined: the task is none of the client's
   */
  #related(request: Request, id: string): Request | undefined {
    const claims = this.#state.table.open(id, this.#client.principal);
    if (claims === undefined || claims.server !== this.#backend.name) return undefined;
    return new ForwardedRequest(request, withRelatedTask(request.frame, id, claims.taskId));
  }

  /** For a client that knows no tasks: the gateway waits for those that a tool requires. */
  #withoutTasks(request: Request): boolean {
    const { frame } = request;
    switch (frame.method) {
      case TOOLS_LIST:
        this.#lease.dispatch(new PlainToolList(request));
        return true;
      case TOOLS_CALL:
        contain(request, this.#awaitTask(request));
        return true;
      default:
        if (isTaskMethod(frame.method)) request.settle(methodNotFound(frame.method));
        return isTaskMethod(frame.method);
    }
  }

  async #awaitTask(request: Request): Promise<void> {
    const call = hasTask(request.frame)
      ? new ForwardedRequest(request, notAsTask(request.frame))
      : request;
    await awaitTaskIfRequired(call, this.#lease, this.#state);
  }

  #keep(claims: TaskClaims): SessionTask {
    for (const used of this.#used) if (used.isClosed) this.#used.delete(used);
    const { table } = this.#state;
    const task = table.keep(new SessionTask(claims, this.#client, this.#lease, table));
    this.#used.add(task);
    return task;
  }

  #taskOf(claims: TaskClaims): SessionTask {
    const known = this.#state.table.find(claims);
    if (!(known instanceof SessionTask)) return this.#keep(claims);
    known.usedBy(this.#client);
    this.#used.add(known);
    return known;
  }

  /** The id of a task in a list; undefined: another principal's. */
  #idOf(taskId: string): string | undefined {
    const claims = claimsOf(this.#lease, taskId, this.#client);
    const { table } = this.#state;
    const owner = table.find(claims)?.principal.key;
    const isOwn = owner === undefined ? !this.#lease.isShared : owner === claims.principal;
    return isOwn ? table.idOf(claims) : undefined;
  }
}

/** The list of tools for a client that knows no tasks. */
class PlainToolList extends ForwardedRequest {
  protected override answered(answer: Frame): void {
    this.pass(toolsWithoutExecution(answer));
  }
}

/** Whether a call asks to become a task. */
function hasTask({ bytes, paramsStart, paramsEnd }: Frame): boolean {
  if (paramsStart < 0 || !bytes.includes(TASK_MEMBER)) return false;
  return lastMember(bytes, paramsStart, paramsEnd, 'task') !== undefined;
}
