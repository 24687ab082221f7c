// The tasks of one server that somebody is told of after the call that made them was answered: by the
// server's id of the task, and by the id of the call, which is the token of its progress. Whoever
// follows a task bounds how many there are.
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
  /** The call that made the task; undefined when it was another one that named it. */
  readonly maker: Call | undefined;
}

/** Followed tasks of one connection. */
export class TaskSubscriptions {
  readonly #byTask = new Map<string, TaskEntry>();
  readonly #byCall = new Map<number, TaskEntry>();
  readonly #recent: RecentCallers;

  /** @param recent told whose tasks are over */
  constructor(recent: RecentCallers) {
    this.#recent = recent;
  }

  get size(): number {
    return this.#byTask.size;
  }

  /**
   * Follows a task.
   * @param maker the call that made it
   * @param stopped told when nothing more is wanted of it
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

  /** Whose tasks are followed. */
  *subscribers(): Iterable<TaskSubscriber> {
    for (const { subscriber } of this.#byTask.values()) yield subscriber;
  }

  find(taskId: string): TaskSubscriber | undefined {
    return this.#byTask.get(taskId)?.subscriber;
  }

  /** The call whose progress this is, and who follows its task. */
  madeBy(callId: number): { call: Call; subscriber: TaskSubscriber } | undefined {
    const subscription = this.#byCall.get(callId);
    if (subscription?.maker === undefined) return undefined;
    return { call: subscription.maker, subscriber: subscription.subscriber };
  }

  /**
   * Passes a notification about a task to whoever follows it.
   * @returns false when it is about none
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
