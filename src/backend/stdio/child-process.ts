// One child process in a process group of its own: started without a shell, stopped by the ladder
// stdin EOF -> TERM -> KILL over the whole group (2025-11-25 basic/lifecycle, design.md 5.3).
import { type ChildProcess as NodeChild, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { after, delay, monotonicMs, type Timer } from '../../base/clock.ts';
import type { TurnQuota } from '../../base/turns.ts';
import { ChildInput } from './child-input.ts';
import { type OutputConsumer, readInTurns } from './child-output.ts';
import { GroupWatcher } from './group-watcher.ts';

/** How long a process may take to end after its input was closed. */
const EOF_GRACE_MS = 2_000;
/** After the process ended its last output may still be on its way (reliability.md F40). */
const OUTPUT_GRACE_MS = 100;
const POLL_MS = 20;

export interface ChildCommand {
  readonly command: string;
  /** What the process reads as its own name. Undefined: the command. */
  readonly name?: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Another user; all other groups are given up too. Undefined: the gateway's own. */
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined;
  /** Between TERM and KILL, in milliseconds. */
  readonly stopMs: number;
  /** How long it may read nothing of what waits for it, in milliseconds. */
  readonly stallMs: number;
}

export interface ChildEvents {
  readonly stdout: OutputConsumer;
  readonly stderr: OutputConsumer;
  /** stdin is not full any more. */
  drained(): void;
  /** The process is over, could not be started, or closed its side of the pipes. Told once. */
  ended(reason: string): void;
  /** If the gateway is killed, what this process leaves behind is not ended. */
  unwatched(why: string): void;
}

/** Children whose groups may be alive. */
const alive = new Set<{ kill(): void }>();
const watcher = new GroupWatcher();

/** Kills every process group that may be left, for a gateway that ends in a hurry. */
export function killChildren(): void {
  for (const child of alive) child.kill();
}

/** A running child. */
export class ChildProcess {
  readonly #child: NodeChild;
  readonly #events: ChildEvents;
  readonly #stopMs: number;
  #isEnded = false;
  #hasExited = false;
  #stopping: Promise<void> | undefined;
  readonly #input: ChildInput | undefined;

  /** @param quota what the output may cost in one turn of the event loop */
  constructor(command: ChildCommand, events: ChildEvents, quota: TurnQuota) {
    this.#events = events;
    this.#stopMs = command.stopMs;
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

  /** False while too much waits for the process. */
  get isWritable(): boolean {
    return this.#input?.isWritable ?? false;
  }

  /**
   * Writes a message to stdin.
   * @returns false when it was dropped: the process is over, or too much waits for it
   */
  write(first: Buffer, second: Buffer): boolean {
    return !this.#isEnded && this.#input?.write(first, second) === true;
  }

  /** Kills the whole process group, now. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  /** Ends the whole process group and resolves when it is gone. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#runStopLadder();
    return this.#stopping;
  }

  /** Undefined where the system gave no pipe. */
  #createInput(stallMs: number): ChildInput | undefined {
    const { stdin } = this.#child;
    if (!(stdin instanceof Socket)) return undefined;
    const stalled = (): void => this.#end('stdin_stalled');
    return new ChildInput(stdin, { drained: () => this.#events.drained(), stalled }, stallMs);
  }

  #listen(command: ChildCommand, quota: TurnQuota): void {
    const { stdin, stdout, stderr } = this.#child;
    if (stdout !== null) readInTurns(stdout, quota, this.#events.stdout);
    if (stderr !== null) readInTurns(stderr, quota, this.#events.stderr);
    stdin?.on('error', () => this.#end('stdin_closed'));
    stdout?.on('end', () => this.#end('stdout_closed', OUTPUT_GRACE_MS));
    this.#child.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#child.pid === undefined) this.#hasExited = true;
      this.#end(`cannot_start: ${cannotStart(command, error)}`);
    });
    this.#child.on('exit', (code, signal) => {
      this.#hasExited = true;
      this.#end(signal === null ? `exit_${code}` : signal, OUTPUT_GRACE_MS);
    });
  }

  /** Tells the owner that it is over, after the rest of the output had time to arrive. */
  #end(reason: string, graceMs = 0): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (graceMs === 0) {
      this.#events.ended(reason);
      return;
    }
    const tell = once(() => this.#events.ended(this.#exitReason(reason)));
    const timer: Timer = after(graceMs, tell);
    this.#child.once('close', () => {
      timer.cancel();
      tell();
    });
  }

  // stdout ends before `exit` is known; a signal or a code says more.
  #exitReason(reason: string): string {
    const { exitCode, signalCode } = this.#child;
    if (reason !== 'stdout_closed') return reason;
    if (signalCode !== null) return signalCode;
    return exitCode === null ? reason : `exit_${exitCode}`;
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
    // Answers and cancels of this very turn are still the server's to read.
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

  /** Sends a signal to the group; false when there is no such group any more. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch (error) {
      // What may not be killed is still there.
      return error instanceof Error && 'code' in error && error.code === 'EPERM';
    }
  }
}

/** The system says the same of a program and of a folder that are not there. */
function cannotStart(command: ChildCommand, error: NodeJS.ErrnoException): string {
  const code = error.code ?? error.message;
  if (code === 'EPERM' && command.runAs !== undefined) {
    return `EPERM: the gateway may not start processes as uid ${command.runAs.uid}`;
  }
  if (code === 'EACCES' && command.runAs !== undefined) {
    const { uid } = command.runAs;
    return `EACCES: uid ${uid} may not run "${command.command}", or not enter "${command.cwd}"`;
  }
  if (code !== 'ENOENT') return `${code} for program "${command.command}"`;
  return `ENOENT: no program "${command.command}", or no folder "${command.cwd}"`;
}

function once(task: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    task();
  };
}
