// The file of the audit log, or stdout: lines wait for a slow disk in a bounded buffer, a file that was
// moved away is made anew, and whether lines get there is known.
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { pino } from 'pino';
import { monotonicMs, within } from '../base/clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** What may wait for a slow disk; more is dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const OWNER_ONLY = 0o600;
const STDOUT = 1;
/** How often the path is looked at, at most. */
const LOOK_MS = 1_000;
/** How long the last lines may take. */
const CLOSE_MS = 2_000;

type Destination = ReturnType<typeof pino.destination>;

/** Where audit lines go. */
export class AuditFile {
  /** What pino writes to. */
  readonly stream: { write(line: string): void };
  readonly #path: string | undefined;
  readonly #destination: Destination;
  readonly #logger: Logger;
  readonly #lost: Metrics['auditLost'];
  #lookedMs = monotonicMs();
  #isReopening = false;
  /** What keeps lines from getting there; told once in the log. */
  readonly #faults = new Set<'open' | 'write'>();

  /** @throws when the file can't be opened */
  constructor(to: string, metrics: Pick<Metrics, 'auditLost'>, logger: Logger) {
    this.#path = to === 'stdout' ? undefined : to;
    this.#logger = logger;
    this.#lost = metrics.auditLost;
    // A start fails whose audit log can't be written.
    if (this.#path !== undefined) tryToOpen(this.#path);
    this.#destination = pino.destination({
      dest: this.#path ?? STDOUT,
      sync: false,
      append: true,
      mode: OWNER_ONLY,
      maxLength: MAX_WAITING_BYTES,
    });
    this.#destination.on('drop', () => this.#failed('write', 'full'));
    this.#destination.on('error', (error) => this.#failed('write', 'error', error));
    this.#destination.on('write', () => this.#mended('write'));
    this.#destination.on('ready', () => {
      this.#isReopening = false;
    });
    this.stream = { write: (line) => this.#write(line) };
  }

  /** Whether lines do not get there now. */
  get isFailing(): boolean {
    return this.#faults.size > 0;
  }

  /** Writes what waits, unless it can't be written. */
  async close(): Promise<void> {
    const over = new Promise<void>((resolve) => {
      this.#destination.once('close', resolve);
      this.#destination.once('error', () => resolve());
      this.#destination.end();
    });
    await within(CLOSE_MS, over);
    this.#destination.destroy();
  }

  #write(line: string): void {
    const nowMs = monotonicMs();
    if (this.#path !== undefined && nowMs - this.#lookedMs >= LOOK_MS) {
      this.#lookedMs = nowMs;
      this.#followPath(this.#path);
    }
    this.#destination.write(line);
  }

  /** Whoever rotates logs moves the file away: what is at the path then is another one, or nothing. */
  #followPath(path: string): void {
    const { fd } = this.#destination as unknown as { readonly fd: number };
    if (this.#isReopening || fd < 0) return;
    try {
      const now = statSync(path, { throwIfNoEntry: false });
      const open = fstatSync(fd);
      if (now?.ino === open.ino && now.dev === open.dev) {
        this.#mended('open');
        return;
      }
      tryToOpen(path);
      this.#isReopening = true;
      this.#destination.reopen();
      this.#mended('open');
    } catch (error) {
      // Lines go on into the file that is open.
      this.#failed('open', 'error', error);
    }
  }

  #failed(fault: 'open' | 'write', reason: 'full' | 'error', error?: unknown): void {
    this.#lost.inc({ reason });
    if (!this.isFailing) this.#logger.error({ err: error, fault }, 'audit log can not be written');
    this.#faults.add(fault);
  }

  #mended(fault: 'open' | 'write'): void {
    if (!this.#faults.delete(fault) || this.isFailing) return;
    this.#logger.info('audit log can be written again');
  }
}

function tryToOpen(path: string): void {
  closeSync(openSync(path, 'a', OWNER_ONLY));
}
