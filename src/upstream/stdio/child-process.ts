// One child process in a process group of its own: started without a shell, stopped by the ladder
// stdin EOF -> TERM -> KILL over the whole group (2025-11-25 basic/lifecycle,
// docs/architecture.md#life-of-an-instance).
import { type ChildProcess as NodeChild, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { after, afterInput, delay, monotonicMs, type Timer } from '../../base/clock.ts';
import type { TurnQuota } from '../../base/turns.ts';
import { ChildInput, type ChildInputEvents } from './child-input.ts';
import { type OutputConsumer, readInTurns } from './child-output.ts';
import { GroupWatcher } from './group-watcher.ts';
import { closeInheritedFiles } from './inherited-files.ts';

/** How long a process may take to end after its input was closed. */
const EOF_GRACE_MS = 2_000;
/** After the process ended its last output may still be on its way (docs/reliability.md#f40). */
const OUTPUT_GRACE_MS = 100;
/** A process that closed its input or output is most likely on its way out: how long its exit is waited for. */
const EXIT_GRACE_MS = 500;
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

export interface ChildEvents extends Omit<ChildInputEvents, 'stalled'> {
  readonly stdout: OutputConsumer;
  readonly stderr: OutputConsumer;
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
   * Writes a message to stdin. A process that is over takes everything: its end is about to be told.
   * @returns false when the message was dropped, since too much waits already
   */
  write(first: Buffer, second: Buffer): boolean {
    return this.#isEnded || this.#input === undefined || this.#input.write(first, second);
  }

  /** Kills the whole process group, now. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  /** More waits for it than may be held: it does not read as fast as it has to. */
  endUnread(): void {
    this.#end('stdin_held');
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
    const events = {
      drained: (): void => this.#events.drained(),
      waits: (bytes: number): void => this.#events.waits(bytes),
      stalled: (): void => this.#end('stdin_stalled'),
    };
    return new ChildInput(stdin, events, stallMs);
  }

  #listen(command: ChildCommand, quota: TurnQuota): void {
    const { stdin, stdout, stderr } = this.#child;
    // Without a descriptor left Node makes neither a pipe nor null of them.
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
    // It has exited, and all of its output was read.
    this.#child.on('close', () => {
      if (this.#grace !== undefined) this.#tell('exit');
    });
  }

  /** It is over: tells the owner once its exit and the rest of its output had time to arrive. */
  #end(reason: string, graceMs = 0): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (graceMs === 0) this.#tell(reason);
    else this.#tellLater(reason, graceMs);
  }

  #tellLater(reason: string, graceMs: number): void {
    this.#grace?.cancel();
    // On a busy machine more than that may have passed before the output is looked at.
    this.#grace = after(graceMs, () => afterInput(() => this.#tell(reason)));
  }

  #tell(reason: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#grace?.cancel();
    this.#events.ended(this.#exitReason() ?? reason);
  }

  /** A signal or a code says more than what was noticed first; undefined while it runs. */
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
  if (code === 'EMFILE' || code === 'ENFILE') {
    return `${code}: no descriptor is left to start "${command.command}"; allow more (ulimit -n)`;
  }
  if (code !== 'ENOENT') return `${code} for program "${command.command}"`;
  return `ENOENT: no program "${command.command}", or no folder "${command.cwd}"`;
}
