/** A gateway that is a process of its own, as users have it (`node src/main.ts serve --config FILE`). */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { GatewayLog } from './gateway-log.ts';
import {
  type GatewayOptions,
  leftovers,
  type StopResult,
  writeConfiguration,
} from './gateway-options.ts';
import { descendants, isAlive, waitGone } from './processes.ts';
import { ROOT } from './root.ts';
import { within } from './until.ts';

/** Node itself closes those up to 15 to its children. */
const FIRST_INHERITED = 20;

export class GatewayProcess {
  readonly log = new GatewayLog();
  readonly pid: number;
  readonly folder: string;
  readonly exit: Promise<StopResult>;
  /** Set once the process has ended. */
  exited: StopResult | undefined;
  stdout = '';
  readonly #child: ChildProcess;
  readonly #options: GatewayOptions;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const { folder, file } = writeConfiguration(options);
    this.folder = folder;
    const { startedBy = [], nodeArgs = [], checkout = ROOT, args = [] } = options;
    const gateway = ['src/main.ts', 'serve', '--config', file, ...args];
    const [program = '', ...rest] = [...startedBy, process.execPath, ...nodeArgs, ...gateway];
    this.#child = spawn(program, rest, {
      cwd: checkout,
      env: { ...process.env, ...options.env },
      stdio: stdioWith(options.inherited ?? []),
    });
    this.pid = this.#child.pid ?? 0;
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => this.log.write(text));
    this.exit = new Promise((resolve) => {
      this.#child.on('exit', (code, signal) => {
        this.exited = { code, signal };
        resolve(this.exited);
      });
    });
    // After all that it wrote.
    this.#child.on('close', () => this.log.close(JSON.stringify(this.exited)));
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async end(signal: 'SIGTERM' | 'SIGKILL', timeoutMs: number): Promise<StopResult> {
    const children = descendants(this.pid).map((info) => info.pid);
    if (!this.exited) this.#child.kill(signal);
    try {
      const result = await within(this.exit, timeoutMs, `exit of the gateway after ${signal}`);
      await waitGone(children, timeoutMs);
      await waitGone(leftovers(this.#options), timeoutMs);
      return result;
    } catch (error) {
      this.#child.kill('SIGKILL');
      for (const pid of [...children, ...leftovers(this.#options)]) {
        if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      }
      throw error;
    }
  }
}

function stdioWith(inherited: readonly number[]): StdioOptions {
  const gap = Array<'ignore'>(FIRST_INHERITED - 3).fill('ignore');
  return ['ignore', 'pipe', 'pipe', ...(inherited.length === 0 ? [] : [...gap, ...inherited])];
}
