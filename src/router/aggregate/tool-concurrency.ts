// Limits how many calls of a tool run at the same time. Other calls wait.

import { after, type Timer } from '../../base/clock.ts';
import { FAILURES } from '../../mcp/failures.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Request } from '../../ports/request.ts';

/** How long a call may wait, in milliseconds; as in a server's queue. */
const WAIT_LIMIT_MS = 5_000;
const MAX_WAITING = 256;

interface WaitingCall {
  readonly go: () => void;
  readonly timer: Timer;
}

interface ToolQueue {
  running: number;
  readonly waiting: Set<WaitingCall>;
}

/** The queues of one endpoint, by server and tool. */
export class ToolConcurrency {
  readonly #queues = new Map<string, ToolQueue>();

  /**
   * Calls `go` when the tool has room.
   * @param key of the tool
   * @param limit calls at the same time
   * @param go gets the call to be sent instead of the request
   */
  enter(request: Request, key: string, limit: number, go: (call: Request) => void): void {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: new Set() };
    this.#queues.set(key, queue);
    if (queue.running < limit) {
      this.#run(request, key, queue, go);
    } else if (queue.waiting.size >= MAX_WAITING) {
      request.settle(FAILURES.toolQueueFull(MAX_WAITING));
    } else {
      this.#wait(request, key, queue, go);
    }
  }

  #run(request: Request, key: string, queue: ToolQueue, go: (call: Request) => void): void {
    queue.running++;
    const leave = (): void => {
      queue.running--;
      this.#next(key, queue);
    };
    go(new LimitedCall(request, leave));
  }

  #wait(request: Request, key: string, queue: ToolQueue, go: (call: Request) => void): void {
    const leave = (): void => {
      entry.timer.cancel();
      queue.waiting.delete(entry);
    };
    const entry: WaitingCall = {
      go: () => {
        leave();
        this.#run(request, key, queue, go);
      },
      timer: after(WAIT_LIMIT_MS, () => {
        leave();
        request.settle(FAILURES.toolBusy(WAIT_LIMIT_MS));
      }),
    };
    queue.waiting.add(entry);
    request.canceller = { id: undefined, cancel: leave };
  }

  #next(key: string, queue: ToolQueue): void {
    const [first] = queue.waiting;
    if (first !== undefined) first.go();
    else if (queue.running === 0) this.#queues.delete(key);
  }
}

/** A call that counts for the limit of its tool until it is over. */
class LimitedCall extends ForwardedRequest {
  readonly #leave: () => void;
  #hasLeft = false;

  constructor(request: Request, leave: () => void) {
    super(request);
    this.#leave = leave;
  }

  protected override ended(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#leave();
  }
}
