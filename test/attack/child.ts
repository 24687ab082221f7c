// A process of the harness's own, told and asked over IPC.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { until } from '../support/until.ts';

/** One process. */
export class Child<Said, Heard> {
  readonly #process: ChildProcess;
  readonly #name: string;
  readonly #heard: Heard[] = [];

  /** @param file in this folder */
  constructor(file: string, args: readonly string[] = []) {
    this.#name = file;
    this.#process = fork(join(import.meta.dirname, file), args, {
      // Keeps Infinity, which JSON has not.
      serialization: 'advanced',
    });
    // It could not be started: whoever waits for it hears of its end.
    this.#process.on('error', () => undefined);
    this.#process.on('message', (message) => this.#heard.push(message as Heard));
  }

  get hasEnded(): boolean {
    const { pid, exitCode, signalCode } = this.#process;
    return pid === undefined || exitCode !== null || signalCode !== null;
  }

  tell(message: Said): void {
    if (this.#process.connected) this.#process.send(message as object);
  }

  /** The next thing that it says, if it has said it. */
  heard(): Heard | undefined {
    return this.#heard.shift();
  }

  /**
   * The next thing that it says.
   * @throws Error when it ends, or says nothing in time
   */
  async next(timeoutMs: number): Promise<Heard> {
    const what = `word of ${this.#name}`;
    await until(() => this.#heard.length > 0 || this.hasEnded, { timeoutMs, what });
    const message = this.heard();
    if (message !== undefined) return message;
    const { signalCode, exitCode } = this.#process;
    throw new Error(`${this.#name} ended with ${signalCode ?? exitCode}`);
  }

  /** Tells it something and waits for what it says to that. */
  async ask(message: Said, timeoutMs: number): Promise<Heard> {
    this.tell(message);
    return await this.next(timeoutMs);
  }

  async kill(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}
