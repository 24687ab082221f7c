// The owners of tasks of one server: they get the messages about a task after the call that made it was
// answered. Found by the server's task id, and by the id of the call, which is the progress token. The owners
// limit the number of tasks.
import { monotonicMs } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { parseParams } from '../jsonrpc/parse.ts';
import { TASK_STATUS } from '../mcp/methods.ts';
import { relatedTaskOf } from '../mcp/related-task.ts';
import type { TaskSubscriber, TaskSubscription } from '../ports/request.ts';
import type { Call } from './call.ts';
import type { RecentCallers } from './recent-callers.ts';

interface TaskEntry {
  readonly subscriber: TaskSubscriber;
  /** The call that made the task; undefined if another call named it. */
  readonly maker: Call | undefined;
}

/** The subscribed tasks of one connection. */
export class TaskSubscriptions {
  readonly #byTask = new Map<string, TaskEntry>();
  readonly #byCall = new Map<number, TaskEntry>();
  readonly #recent: RecentCallers;

  /** @param recent notes clients whose tasks are over */
  constructor(recent: RecentCallers) {
    this.#recent = recent;
  }

  get size(): number {
    return this.#byTask.size;
  }

  /**
   * Subscribes to a task.
   * @param maker the call that made it
   * @param stopped called when the subscription ends
   */
  follow(
    taskId: string,
    subscriber: TaskSubscriber,
    maker: Call | undefined,
    stopped: () => void,
  ): TaskSubscription {
    maker?.keepToken();
    const before = this.#byTask.get(taskId);
    const subscription: TaskEntry = { subscriber, maker: maker ?? before?.maker };
    this.#byTask.set(taskId, subscription);
    if (subscription.maker !== undefined) this.#byCall.set(subscription.maker.id, subscription);
    return {
      stop: () => {
        if (this.#byTask.get(taskId) !== subscription) return;
        this.#byTask.delete(taskId);
        if (subscription.maker !== undefined) this.#byCall.delete(subscription.maker.id);
        this.#recent.note(subscriber, monotonicMs());
        stopped();
      },
    };
  }

  /** The owners of all subscribed tasks. */
  *subscribers(): Iterable<TaskSubscriber> {
    for (const { subscriber } of this.#byTask.values()) yield subscriber;
  }

  find(taskId: string): TaskSubscriber | undefined {
    return this.#byTask.get(taskId)?.subscriber;
  }

  /** The call with a progress token, and the owner of its task. */
  madeBy(callId: number): { call: Call; subscriber: TaskSubscriber } | undefined {
    const subscription = this.#byCall.get(callId);
    if (subscription?.maker === undefined) return undefined;
    return { call: subscription.maker, subscriber: subscription.subscriber };
  }

  /**
   * Passes a notification about a task to its owner.
   * @returns false if it is not about a subscribed task
   */
  tell(notification: Frame): boolean {
    if (this.#byTask.size === 0) return false;
    const taskId =
      notification.method === TASK_STATUS ? statusOf(notification) : relatedTaskOf(notification);
    const subscriber = taskId === undefined ? undefined : this.find(taskId);
    subscriber?.tell(notification);
    return subscriber !== undefined;
  }

  /** The connection is over. */
  close(): void {
    const subscription = [...this.#byTask.values()];
    this.#byTask.clear();
    this.#byCall.clear();
    for (const { subscriber } of subscription) {
      this.#recent.note(subscriber, monotonicMs());
      subscriber.lost();
    }
  }
}

function statusOf(notification: Frame): string | undefined {
  const { taskId } = parseParams(notification);
  return typeof taskId === 'string' ? taskId : undefined;
}
