/**
 * A queue that tests read by predicate: `next` takes the first item that fits, now or later, and leaves
 * the others where they are. `all` keeps everything that ever arrived, for "nothing else came" checks.
 */
import { PATIENCE_MS } from './until.ts';

interface Waiter<T> {
  readonly fits: (item: T) => boolean;
  readonly resolve: (item: T) => void;
  readonly reject: (error: Error) => void;
}

export class AsyncQueue<T> {
  /** Everything that ever arrived, in order. */
  readonly all: T[] = [];
  readonly #name: string;
  #pending: T[] = [];
  #waiters: Waiter<T>[] = [];
  #ended: Error | undefined;
  #onEnd: (() => void)[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** What arrived and nobody took. */
  get pending(): readonly T[] {
    return this.#pending;
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Resolves once the source ended, for whatever reason. */
  get ended(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => this.#onEnd.push(resolve));
  }

  push(item: T): void {
    this.all.push(item);
    const index = this.#waiters.findIndex((waiter) => waiter.fits(item));
    const [waiter] = index < 0 ? [] : this.#waiters.splice(index, 1);
    if (waiter) waiter.resolve(item);
    else this.#pending.push(item);
  }

  /** No more items: present and later waiters are rejected. */
  end(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = new Error(`${this.#name} ended`, { cause });
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#ended);
    for (const resolve of this.#onEnd.splice(0)) resolve();
  }

  /** Takes the first item that fits, waiting up to `timeoutMs` for it. */
  next(fits: (item: T) => boolean = () => true, timeoutMs = PATIENCE_MS): Promise<T> {
    const index = this.#pending.findIndex(fits);
    const [found] = index < 0 ? [] : this.#pending.splice(index, 1);
    if (index >= 0) return Promise.resolve(found as T);
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        const seen = this.all.map((item) => JSON.stringify(item)).join('\n');
        reject(new Error(`${this.#name}: nothing fitting within ${timeoutMs} ms; saw\n${seen}`));
      }, timeoutMs);
      const waiter: Waiter<T> = {
        fits,
        resolve: (item) => {
          clearTimeout(timer);
          resolve(item);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.#waiters.push(waiter);
    });
  }
}
