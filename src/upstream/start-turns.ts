// Decides which processes of all servers may start now. A start is expensive, and a process that hangs in its
// handshake is starting for `timeouts.start`. So principals take turns. One server, one principal, and all
// those whose last start failed may each use half of the starts at most. Private processes leave one for
// shared ones.
import { FairQueue, type Queued } from '../base/fair-queue.ts';
import { RecentMap } from '../base/recent-map.ts';
import { isAnonymous, type Principal, quotaKeyOf } from '../ports/principal.ts';

/** The most servers, or principals with private processes, whose last start failed. */
const MAX_FAILED = 10_000;

/** What is to be started. */
export interface Starter {
  readonly server: string;
  /** The principal of a private process; undefined for a shared one. */
  readonly principal: Principal | undefined;
}

/** The permission to start. */
export interface StartTurn {
  /** The start is over. */
  end(isReady: boolean): void;
}

interface Start extends Queued<string> {
  readonly server: string;
  readonly isShared: boolean;
  /** Undefined for shared processes, and without authentication. */
  readonly principal: string | undefined;
  readonly name: string;
  readonly go: () => void;
}

/** The waiting and running starts. */
export class StartTurns {
  #max: number;
  #most: number;
  readonly #running = new Set<Start>();
  /** Each instance waits at most once. */
  readonly #waiting = new FairQueue<string, Start>(Number.POSITIVE_INFINITY, () => undefined);
  readonly #failed = new RecentMap<string, true>(MAX_FAILED);

  /** @param max how many may start at the same time */
  constructor(max: number) {
    this.#max = max;
    this.#most = Math.max(1, Math.floor(max / 2));
  }

  /** From now on so many may start at the same time. */
  obey(max: number): void {
    this.#max = max;
    this.#most = Math.max(1, Math.floor(max / 2));
    this.#next();
  }

  /** Resolves when it may start. */
  take({ server, principal }: Starter): Promise<StartTurn> {
    const key =
      principal === undefined || isAnonymous(principal) ? undefined : quotaKeyOf(principal);
    return new Promise((resolve) => {
      const start: Start = {
        server,
        isShared: principal === undefined,
        principal: key,
        owner: key ?? server,
        name: `${server} ${key ?? ''}`,
        go: () => resolve({ end: (isReady) => this.#end(start, isReady) }),
      };
      this.#waiting.add(start);
      this.#next();
    });
  }

  #end(start: Start, isReady: boolean): void {
    if (isReady) this.#failed.delete(start.name);
    else this.#failed.set(start.name, true);
    this.#running.delete(start);
    this.#next();
  }

  #next(): void {
    while (this.#running.size < this.#max) {
      // Shared ones first, because many clients may wait for them.
      const next =
        this.#waiting.take((start) => start.isShared && this.#mayGo(start)) ??
        this.#waiting.take((start) => this.#mayGo(start));
      if (next === undefined) return;
      this.#running.add(next);
      next.go();
    }
  }

  #mayGo({ server, principal, isShared, name }: Start): boolean {
    const count = (isSuch: (start: Start) => boolean): number =>
      [...this.#running].filter(isSuch).length;
    if (count((other) => other.server === server) >= this.#most) return false;
    if (!isShared && count((other) => !other.isShared) >= Math.max(1, this.#max - 1)) return false;
    if (principal !== undefined && count((other) => other.principal === principal) >= this.#most) {
      return false;
    }
    const hasFailed = (start: { readonly name: string }): boolean =>
      this.#failed.get(start.name) === true;
    return !hasFailed({ name }) || count(hasFailed) < this.#most;
  }
}
