// One child process with its own process group. It is started without a shell. It is stopped in steps: stdin
// is closed, then the group gets SIGTERM, then SIGKILL (2025-11-25 basic/lifecycle,
// docs/architecture.md#life-of-an-instance).
import { type ChildProcess as NodeChild, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { after, afterInput, delay, monotonicMs, type Timer } from '../../base/clock.ts';
import type { TurnQuota } from '../../base/turns.ts';
import { ChildInput, type ChildInputEvents } from './child-input.ts';
import { type OutputConsumer, readInTurns } from './child-output.ts';
import { GroupWatcher } from './group-watcher.ts';
import { closeInheritedFiles } from './inherited-files.ts';

/** How long a process may take to end after its stdin was closed. */
const EOF_GRACE_MS = 2_000;
/** After a process has ended, its last output may still arrive (docs/reliability.md#f40). */
const OUTPUT_GRACE_MS = 100;
/** A process that closed its stdin or stdout will probably exit: how long to wait for that. */
const EXIT_GRACE_MS = 500;
const POLL_MS = 20;

export interface ChildCommand {
  readonly command: string;
  /** The name that the process sees as its own. Undefined: the command. */
  readonly name?: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Another user, without further groups. Undefined: the gateway's user. */
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined;
  /** Between SIGTERM and SIGKILL, in milliseconds. */
  readonly stopMs: number;
  /** How long it may read nothing of what waits for it, in milliseconds. */
  readonly stallMs: number;
}

export interface ChildEvents extends Omit<ChildInputEvents, 'stalled'> {
  readonly stdout: OutputConsumer;
  readonly stderr: OutputConsumer;
  /** The process has ended, could not be started, or closed its pipes. Called once. */
  ended(reason: string): void;
  /** If the gateway is killed, processes of this server will not be ended. */
  unwatched(why: string): void;
}

/** Children whose process groups may still exist. */
const alive = new Set<{ kill(): void }>();
const watcher = new GroupWatcher();

/** Kills all process groups, for a gateway that ends at once. */
export function killChildren(): void {
  for (const child of alive) child.kill();
}

/** A running child. */
export class ChildProcess {
  readonly #child: NodeChild;
  readonly #events: ChildEvents;
  readonly #stopMs: number;
  #isEnded = false;
  #isTold = false;
  #hasExited = false;
  #grace: Timer | undefined;
  #stopping: Promise<void> | undefined;
  readonly #input: ChildInput | undefined;

  /** @param quota what the output may cost in one turn of the event loop */
  constructor(command: ChildCommand, events: ChildEvents, quota: TurnQuota) {
    this.#events = events;
    this.#stopMs = command.stopMs;
    closeInheritedFiles();
    this.#child = spawn(command.command, command.args, {
      cwd: command.cwd,
      env: command.env,
      argv0: command.name ?? command.command,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      ...(command.runAs && { uid: command.runAs.uid, gid: command.runAs.gid }),
    });
    this.#input = this.#createInput(command.stallMs);
    this.#listen(command, quota);
    alive.add(this);
    if (this.pid !== undefined) watcher.add(this.pid, (why) => events.unwatched(why));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** False while too much waits for the process, and when it is over. */
  get isWritable(): boolean {
    return !this.#isEnded && this.#input?.isWritable === true;
  }

  /**
   * Writes a message to stdin. If the process is over, the message is accepted, because the end is about to
   * be reported.
   * @returns false if the message was dropped, because too much waits already
   */
  write(first: Buffer, second: Buffer): boolean {
    return this.#isEnded || this.#input === undefined || this.#input.write(first, second);
  }

  /** Kills the whole process group now. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  /** More waits for it than may be held, because it reads too slowly. */
  endUnread(): void {
    this.#end('stdin_held');
  }

  /** Ends the whole process group. Resolves when it is gone. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#runStopLadder();
    return this.#stopping;
  }

  /** Undefined if the system gave no pipe. */
  #createInput(stallMs: number): ChildInput | undefined {
    const { stdin } = this.#child;
    if (!(stdin instanceof Socket)) return undefined;
    const events = {
      drained: (): void => this.#events.drained(),
      waits: (bytes: number): void => this.#events.waits(bytes),
      stalled: (): void => this.#end('stdin_stalled'),
    };
    return new ChildInput(stdin, events, stallMs);
  }

  #listen(command: ChildCommand, quota: TurnQuota): void {
    const { stdin, stdout, stderr } = this.#child;
    // Without a free file descriptor, Node gives neither a pipe nor null.
    if (stdout instanceof Socket) readInTurns(stdout, quota, this.#events.stdout);
    if (stderr instanceof Socket) readInTurns(stderr, quota, this.#events.stderr);
    stdin?.on('error', () => this.#end('stdin_closed', EXIT_GRACE_MS));
    stdout?.on('end', () => this.#end('stdout_closed', EXIT_GRACE_MS));
    this.#child.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#child.pid === undefined) this.#hasExited = true;
      this.#end(`cannot_start: ${cannotStart(command, error)}`);
    });
    this.#child.on('exit', () => {
      this.#hasExited = true;
      if (this.#grace === undefined) this.#end('exit', OUTPUT_GRACE_MS);
      else this.#tellLater('exit', OUTPUT_GRACE_MS);
    });
    // It has exited, and all its output was read.
    this.#child.on('close', () => {
      if (this.#grace !== undefined) this.#tell('exit');
    });
  }

  /** It is over. Reports this after the exit status and the rest of the output had time to arrive. */
  #end(reason: string, graceMs = 0): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (graceMs === 0) this.#tell(reason);
    else this.#tellLater(reason, graceMs);
  }

  #tellLater(reason: string, graceMs: number): void {
    this.#grace?.cancel();
    // On a busy machine this time may pass before the output is read.
    this.#grace = after(graceMs, () => afterInput(() => this.#tell(reason)));
  }

  #tell(reason: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#grace?.cancel();
    this.#events.ended(this.#exitReason() ?? reason);
  }

  /** A signal or an exit status says more than the first symptom; undefined while it runs. */
  #exitReason(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    if (signalCode !== null) return signalCode;
    return exitCode === null || this.#child.pid === undefined ? undefined : `exit_${exitCode}`;
  }

  async #runStopLadder(): Promise<void> {
    this.#isEnded = true;
    const { pid } = this.#child;
    if (pid !== undefined) {
      await this.#descendStopLadder();
      watcher.remove(pid);
    }
    alive.delete(this);
  }

  async #descendStopLadder(): Promise<void> {
    // Responses and cancellations of this turn should still reach the server.
    this.#input?.flush();
    this.#child.stdin?.end();
    await this.#waitForExit(EOF_GRACE_MS);
    if (this.#isGroupAlive()) {
      this.#signal('SIGTERM');
      await this.#waitForGroup(this.#stopMs);
    }
    if (this.#isGroupAlive()) {
      this.#signal('SIGKILL');
      await this.#waitForGroup(this.#stopMs);
    }
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#child.stdin?.destroy();
  }

  #waitForExit(limitMs: number): Promise<void> {
    return this.#waitUntil(limitMs, () => this.#hasExited);
  }

  #waitForGroup(limitMs: number): Promise<void> {
    return this.#waitUntil(limitMs, () => !this.#isGroupAlive());
  }

  async #waitUntil(limitMs: number, isDone: () => boolean): Promise<void> {
    const endMs = monotonicMs() + limitMs;
    while (!isDone() && monotonicMs() < endMs) await delay(POLL_MS);
  }

  #isGroupAlive(): boolean {
    return this.#signal(0);
  }

  /** Sends a signal to the group; false if the group no longer exists. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch (error) {
      // With EPERM the group still exists.
      return error instanceof Error && 'code' in error && error.code === 'EPERM';
    }
  }
}

/** The system's error is the same for a missing program and a missing folder. */
function cannotStart(command: ChildCommand, error: NodeJS.ErrnoException): string {
  const code = error.code ?? error.message;
  if (code === 'EPERM' && command.runAs !== undefined) {
    return `EPERM: the gateway may not start processes as uid ${command.runAs.uid}`;
  }
  if (code === 'EACCES' && command.runAs !== undefined) {
    const { uid } = command.runAs;
    return `EACCES: uid ${uid} may not run "${command.command}", or not enter "${command.cwd}"`;
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return `${code}: no file descriptor is left to start "${command.command}"; allow more (ulimit -n)`;
  }
  if (code !== 'ENOENT') return `${code} for program "${command.command}"`;
  return `ENOENT: no program "${command.command}", or no folder "${command.cwd}"`;
}
