// The tasks of one server that somebody is told of after the call that made them was answered: by the
// server's id of the task, and by the id of the call, which is the token of its progress. Whoever
// follows a task bounds how many there are.
import { monotonicMs } from '../base/clock.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { parseParams } from '../jsonrpc/parse.ts';
import { TASK_STATUS } from '../mcp/methods.ts';
import { relatedTaskOf } from '../mcp/related-task.ts';
import type { FollowedTask, TaskFollower } from '../ports/task.ts';
import type { Call } from './call.ts';
import type { RecentCallers } from './recent-callers.ts';

interface Followed {
  readonly follower: TaskFollower;
  /** The call that made the task; undefined when it was another one that named it. */
  readonly maker: Call | undefined;
}

/** Followed tasks of one connection. */
export class FollowedTasks {
  readonly #byTask = new Map<string, Followed>();
  readonly #byCall = new Map<number, Followed>();
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
    follower: TaskFollower,
    maker: Call | undefined,
    stopped: () => void,
  ): FollowedTask {
    maker?.keepToken();
    const before = this.#byTask.get(taskId);
    const followed: Followed = { follower, maker: maker ?? before?.maker };
    this.#byTask.set(taskId, followed);
    if (followed.maker !== undefined) this.#byCall.set(followed.maker.id, followed);
    return {
      stop: () => {
        if (this.#byTask.get(taskId) !== followed) return;
        this.#byTask.delete(taskId);
        if (followed.maker !== undefined) this.#byCall.delete(followed.maker.id);
        this.#recent.note(follower, monotonicMs());
        stopped();
      },
    };
  }

  /** Whose tasks are followed. */
  *followers(): Iterable<TaskFollower> {
    for (const { follower } of this.#byTask.values()) yield follower;
  }

  find(taskId: string): TaskFollower | undefined {
    return this.#byTask.get(taskId)?.follower;
  }

  /** The call whose progress this is, and who follows its task. */
  madeBy(callId: number): { call: Call; follower: TaskFollower } | undefined {
    const followed = this.#byCall.get(callId);
    if (followed?.maker === undefined) return undefined;
    return { call: followed.maker, follower: followed.follower };
  }

  /**
   * Passes a notification about a task to whoever follows it.
   * @returns false when it is about none
   */
  tell(notification: Frame): boolean {
    if (this.#byTask.size === 0) return false;
    const taskId =
      notification.method === TASK_STATUS ? statusOf(notification) : relatedTaskOf(notification);
    const follower = taskId === undefined ? undefined : this.find(taskId);
    follower?.tell(notification);
    return follower !== undefined;
  }

  /** The connection is over. */
  close(): void {
    const followed = [...this.#byTask.values()];
    this.#byTask.clear();
    this.#byCall.clear();
    for (const { follower } of followed) {
      this.#recent.note(follower, monotonicMs());
      follower.lost();
    }
  }
}

function statusOf(notification: Frame): string | undefined {
  const { taskId } = parseParams(notification);
  return typeof taskId === 'string' ? taskId : undefined;
}
