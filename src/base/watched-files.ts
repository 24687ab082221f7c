// Files that are read again when they change: keys, certificates. They are polled every second, because
// watchers miss mounted secrets, which are replaced through symbolic links.
import { statSync } from 'node:fs';
import { after, every, type Timer } from './clock.ts';
import { messageOf } from './errors.ts';

const PERIOD_MS = 1_000;

/** Some files that belong together. */
export class WatchedFiles {
  readonly #paths: readonly string[];
  readonly #changed: () => void;
  readonly #quietMs: number;
  readonly #timer: Timer;
  #seen: string;
  #settling: Timer | undefined;

  /**
   * @param paths absolute
   * @param changed told when one of them is another file, has another time, size or rights, or can be
   *   looked at again
   * @param quietMs how long nothing must change before that is told
   */
  constructor(paths: readonly string[], changed: () => void, quietMs = 0) {
    this.#paths = paths;
    this.#changed = changed;
    this.#quietMs = quietMs;
    this.#seen = this.#look();
    this.#timer = every(PERIOD_MS, () => this.#check());
  }

  close(): void {
    this.#timer.cancel();
    this.#settling?.cancel();
  }

  /** They are about to be read: what changed until now need not be told. */
  note(): void {
    this.#settling?.cancel();
    this.#settling = undefined;
    this.#seen = this.#look();
  }

  #check(): void {
    const now = this.#look();
    if (now === this.#seen) return;
    this.#seen = now;
    if (this.#quietMs === 0) this.#changed();
    else this.#settle();
  }

  /** A file that is being written, or several that are swapped, are told of once. */
  #settle(): void {
    this.#settling?.cancel();
    this.#settling = after(this.#quietMs, () => {
      this.#settling = undefined;
      const now = this.#look();
      if (now === this.#seen) {
        this.#changed();
        return;
      }
      this.#seen = now;
      this.#settle();
    });
  }

  #look(): string {
    return this.#paths.map(stampOf).join(' ');
  }
}

/** `ctime` also changes with permissions and owner, which decide whether a file can be read. */
function stampOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? 'none' : `${found.ino}.${found.mtimeNs}.${found.ctimeNs}`;
  } catch (error) {
    // A loop of links, or a folder without permission: the code that reads the file reports it.
    return messageOf(error);
  }
}
