// The file of the audit log, or stdout: opens it, protects it, follows a rotation, and knows whether lines
// can be written.
import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { monotonicMs } from '../base/clock.ts';
import { codeOf, messageOf, UserFileError } from '../base/errors.ts';
import { LineWriter } from './line-writer.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

const OWNER_ONLY = 0o600;
const PERMISSIONS = 0o777;
/** Non-blocking: a pipe that nobody reads must fail instead of blocking the gateway. */
const OPEN =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NOFOLLOW |
  constants.O_NONBLOCK;
const STDOUT = 1;
/** How often the path is checked, at most. */
const LOOK_MS = 1_000;
/** How long writing the last lines may take. */
const CLOSE_MS = 2_000;

/** The destination of audit lines. */
export class AuditFile {
  /** The stream that pino writes to. */
  readonly stream: { write(line: string): void };
  readonly #path: string | undefined;
  readonly #writer: LineWriter;
  readonly #logger: Logger;
  readonly #lost: Metrics['auditLost'];
  #fd: number;
  #lookedMs = monotonicMs();
  /** What keeps lines from being written; each is logged once. */
  readonly #faults = new Set<'open' | 'write'>();

  /** @throws UserFileError if the file can't be opened */
  constructor(to: string, metrics: Pick<Metrics, 'auditLost'>, logger: Logger) {
    this.#path = to === 'stdout' ? undefined : to;
    this.#logger = logger;
    this.#lost = metrics.auditLost;
    this.#fd = this.#path === undefined ? STDOUT : this.#open(this.#path);
    this.#writer = new LineWriter({
      target: () => this.#followPath(),
      wrote: () => this.#mended('write'),
      failed: (error) => this.#failed('write', error),
    });
    this.stream = { write: (line) => this.#write(line) };
  }

  /** Whether lines can't be written now. */
  get isFailing(): boolean {
    return this.#faults.size > 0;
  }

  /** The number of lines that are not written yet. */
  get waiting(): number {
    return this.#writer.waiting;
  }

  /** Writes the waiting lines, if that is possible. */
  async close(): Promise<void> {
    await this.#writer.finish(CLOSE_MS);
    const { waiting } = this.#writer;
    if (waiting === 0) return;
    this.#lost.inc({ reason: 'error' }, waiting);
    this.#logger.error({ lines: waiting }, 'lines of the audit log are lost');
  }

  /** Writes the waiting lines at once, for a process that ends. */
  flush(): void {
    this.#writer.flush();
  }

  #write(line: string): void {
    if (this.#writer.push(line)) return;
    this.#lost.inc({ reason: 'full' });
    this.#failed('write', new Error('too many lines wait to be written'));
  }

  /** Log rotation moves the file away. Then the path has another file, or none. */
  #followPath(): number {
    const path = this.#path;
    const nowMs = monotonicMs();
    if (path === undefined || nowMs - this.#lookedMs < LOOK_MS) return this.#fd;
    this.#lookedMs = nowMs;
    try {
      const now = lstatSync(path, { throwIfNoEntry: false });
      const open = fstatSync(this.#fd);
      if (now?.ino !== open.ino || now.dev !== open.dev) {
        const before = this.#fd;
        this.#fd = this.#open(path);
        closeSync(before);
      }
      this.#mended('open');
    } catch (error) {
      // Lines still go to the file that is open.
      this.#failed('open', error);
    }
    return this.#fd;
  }

  #open(path: string): number {
    let fd: number;
    try {
      fd = openSync(path, OPEN, OWNER_ONLY);
    } catch (error) {
      throw new UserFileError(`audit.to is ${path}, ${cannotOpen(error)}`, { cause: error });
    }
    this.#closeToOthers(fd, path);
    return fd;
  }

  /** An existing file may be readable by others. */
  #closeToOthers(fd: number, path: string): void {
    const found = fstatSync(fd);
    if (!found.isFile() || (found.mode & PERMISSIONS) === OWNER_ONLY) return;
    try {
      fchmodSync(fd, OWNER_ONLY);
    } catch (error) {
      const text = 'audit log may be read by others, and its mode can not be changed';
      this.#logger.warn({ path, why: messageOf(error) }, text);
    }
  }

  #failed(fault: 'open' | 'write', error: unknown): void {
    if (!this.isFailing) this.#logger.error({ err: error, fault }, 'audit log can not be written');
    this.#faults.add(fault);
  }

  #mended(fault: 'open' | 'write'): void {
    if (!this.#faults.delete(fault) || this.isFailing) return;
    this.#logger.info('audit log can be written again');
  }
}

function cannotOpen(error: unknown): string {
  switch (codeOf(error)) {
    case 'ELOOP':
      return 'a symbolic link: must be the path of the file itself, or stdout';
    case 'ENXIO':
      return 'a pipe that nobody reads, or a socket: must be a file, or stdout';
    case 'EISDIR':
      return 'a folder: must be a file, or stdout';
    default:
      return `which can't be opened: ${messageOf(error)}`;
  }
}
