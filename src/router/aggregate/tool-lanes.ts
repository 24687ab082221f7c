// Tools that may be called only so many times at once: who is calling, and who waits for a turn.
import { after, type Timer } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import { ForwardedRequest } from '../../ports/forwarded-request.ts';
import type { Request } from '../../ports/request.ts';

/** How long a call waits for its turn, as in a server's queue. */
const WAIT_LIMIT_MS = 5_000;
const MAX_WAITING = 256;

interface Waiting {
  readonly go: () => void;
  readonly timer: Timer;
}

interface Lane {
  running: number;
  readonly waiting: Set<Waiting>;
}

/** The lanes of one endpoint, by server and tool. */
export class ToolLanes {
  readonly #lanes = new Map<string, Lane>();

  /**
   * Lets a call go on when it is its turn.
   * @param key of the tool
   * @param limit calls at a time
   * @param go gets the call that goes on in its place
   */
  enter(request: Request, key: string, limit: number, go: (call: Request) => void): void {
    const lane = this.#lanes.get(key) ?? { running: 0, waiting: new Set() };
    this.#lanes.set(key, lane);
    if (lane.running < limit) {
      this.#run(request, key, lane, go);
    } else if (lane.waiting.size >= MAX_WAITING) {
      request.settle(failure('overloaded', `already has ${MAX_WAITING} calls that wait`));
    } else {
      this.#wait(request, key, lane, go);
    }
  }

  #run(request: Request, key: string, lane: Lane, go: (call: Request) => void): void {
    lane.running++;
    const leave = (): void => {
      lane.running--;
      this.#next(key, lane);
    };
    go(new LaneCall(request, leave));
  }

  #wait(request: Request, key: string, lane: Lane, go: (call: Request) => void): void {
    const leave = (): void => {
      entry.timer.cancel();
      lane.waiting.delete(entry);
    };
    const entry: Waiting = {
      go: () => {
        leave();
        this.#run(request, key, lane, go);
      },
      timer: after(WAIT_LIMIT_MS, () => {
        leave();
        request.settle(failure('queue_timeout', `was busy for ${WAIT_LIMIT_MS} ms`));
      }),
    };
    lane.waiting.add(entry);
    request.canceller = { id: undefined, cancel: leave };
  }

  #next(key: string, lane: Lane): void {
    const [first] = lane.waiting;
    if (first !== undefined) first.go();
    else if (lane.running === 0) this.#lanes.delete(key);
  }
}

/** A call that holds a place in its lane until it is over. */
class LaneCall extends ForwardedRequest {
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

function failure(reason: 'overloaded' | 'queue_timeout', what: string): GatewayError {
  const text = `The tool ${what}; call it again later, or raise its concurrency.`;
  return new GatewayError(reason, text, { outcome: 'not_sent' });
}
