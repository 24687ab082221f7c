/**
 * Starts the gateway as a user does (`node src/main.ts serve --config FILE`), on ports of its own
 * choice, and stops it again with proof that nothing is left: exit status, children, grandchildren.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { descendants, isAlive, processesMentioning, waitGone } from './processes.ts';
import type { ServerConfig } from './scripted-server.ts';
import { tempDir } from './temp-dir.ts';
import { until, within } from './until.ts';

/** Node itself closes those up to 15 to its children. */
const FIRST_INHERITED = 20;

/** The repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export type LogLine = Readonly<Record<string, unknown>>;

export interface GatewayOptions {
  readonly servers: Readonly<Record<string, ServerConfig>>;
  readonly listen?: Readonly<Record<string, unknown>>;
  readonly admin?: Readonly<Record<string, unknown>>;
  readonly log?: Readonly<Record<string, unknown>>;
  /** Further top-level keys of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Command line after `serve --config FILE`. */
  readonly args?: readonly string[];
  /** A program that starts it, with its own arguments: `prlimit --nofile=64`. */
  readonly startedBy?: readonly string[];
  /** Arguments of Node itself. */
  readonly nodeArgs?: readonly string[];
  /** A checkout whose sources run instead of these. */
  readonly checkout?: string;
  /** Descriptors of this process that the gateway is started with, from 20 on. */
  readonly inherited?: readonly number[];
  /** Also wait for `ready` (the first start attempt of all eager servers). Default true. */
  readonly waitReady?: boolean;
}

export interface StopResult {
  /** Exit code, or null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
}

export class Gateway {
  /** `http://127.0.0.1:PORT` of the public listener. */
  readonly url: string;
  /** The same for the admin listener. */
  readonly adminUrl: string;
  readonly pid: number;
  /** The folder that holds the configuration file. */
  readonly folder: string;
  readonly #process: GatewayProcess;

  constructor(running: GatewayProcess, url: string, adminUrl: string) {
    this.#process = running;
    this.url = url;
    this.adminUrl = adminUrl;
    this.pid = running.pid;
    this.folder = running.folder;
  }

  /** The log lines so far, parsed; a line that is not JSON becomes `{ unparsed }`. */
  logs(): LogLine[] {
    return this.#process.logs();
  }

  /** The first log line that fits, waiting for it. */
  waitForLog(fits: (line: LogLine) => boolean, timeoutMs = 20_000): Promise<LogLine> {
    return this.#process.waitForLog(fits, timeoutMs);
  }

  /** What the gateway wrote to stdout: nothing, when all is well. */
  get stdout(): string {
    return this.#process.stdout;
  }

  /** The URL of an endpoint of one server: `mcp`, `sse`, `ws`. */
  endpoint(server: string, kind = 'mcp'): string {
    return `${this.url}/servers/${server}/${kind}`;
  }

  /** Whether the gateway's process still runs. */
  get isRunning(): boolean {
    return this.#process.exited === undefined;
  }

  /** The end of what it wrote to stderr. */
  lastWords(): string {
    return this.#process.stderr.slice(-2000);
  }

  signal(name: NodeJS.Signals): void {
    this.#process.child.kill(name);
  }

  /** Resolves when the process has ended. */
  get exit(): Promise<StopResult> {
    return this.#process.exit;
  }

  /**
   * TERM, then waits for the exit and for every descendant to be gone.
   * @throws Error when the gateway does not end or leaves a process behind (it is killed then).
   */
  async stop(timeoutMs = 20_000): Promise<StopResult> {
    return await this.#process.end('SIGTERM', timeoutMs);
  }

  /** KILL, then waits for every descendant to be gone. */
  async kill(timeoutMs = 20_000): Promise<StopResult> {
    return await this.#process.end('SIGKILL', timeoutMs);
  }
}

class GatewayProcess {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly exit: Promise<StopResult>;
  /** Set once the process has ended. */
  exited: StopResult | undefined;
  stdout = '';
  stderr = '';
  readonly #marks: readonly string[];

  constructor(options: GatewayOptions) {
    this.folder = tempDir();
    this.#marks = marksOf(options.servers);
    const file = join(this.folder, 'sluice.yaml');
    const { servers, listen, admin, log, config } = options;
    const document = {
      listen: { port: 0, ...listen },
      admin: { port: 0, ...admin },
      log: { level: 'debug', ...log },
      servers,
      ...config,
    };
    // JSON is YAML 1.2, and keeps every string a string.
    writeFileSync(file, JSON.stringify(document, null, 2));
    const { startedBy = [], nodeArgs = [], checkout = ROOT, args = [] } = options;
    const gateway = ['src/main.ts', 'serve', '--config', file, ...args];
    const [program = '', ...rest] = [...startedBy, process.execPath, ...nodeArgs, ...gateway];
    this.child = spawn(program, rest, {
      cwd: checkout,
      env: { ...process.env, ...options.env },
      stdio: stdioWith(options.inherited ?? []),
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exit = new Promise((resolve) => {
      this.child.on('exit', (code, signal) => {
        this.exited = { code, signal };
        resolve(this.exited);
      });
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  logs(): LogLine[] {
    const lines = this.stderr.split('\n').filter((line) => line !== '');
    return lines.map((line) => {
      try {
        return JSON.parse(line) as LogLine;
      } catch {
        return { unparsed: line };
      }
    });
  }

  async waitForLog(fits: (line: LogLine) => boolean, timeoutMs: number): Promise<LogLine> {
    const probe = (): LogLine | 'gone' | undefined => {
      const line = this.logs().find(fits);
      return line ?? (this.exited ? 'gone' : undefined);
    };
    try {
      const found = await until(probe, { timeoutMs, what: 'a log line' });
      if (found !== 'gone') return found;
    } catch (cause) {
      throw new Error(`no such log line:\n${this.stderr}`, { cause });
    }
    throw new Error(`the gateway ended with ${JSON.stringify(this.exited)}:\n${this.stderr}`);
  }

  async end(signal: NodeJS.Signals, timeoutMs: number): Promise<StopResult> {
    const children = descendants(this.pid).map((info) => info.pid);
    if (!this.exited) this.child.kill(signal);
    try {
      const result = await within(this.exit, timeoutMs, `exit of the gateway after ${signal}`);
      await waitGone(children, timeoutMs);
      await waitGone(this.#leftovers(), timeoutMs);
      return result;
    } catch (error) {
      this.child.kill('SIGKILL');
      for (const pid of [...children, ...this.#leftovers()]) {
        if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      }
      throw error;
    }
  }

  /** Processes that got away from the gateway's tree: found by the journals they were started with. */
  #leftovers(): number[] {
    return this.#marks.flatMap((mark) => processesMentioning(mark).map((info) => info.pid));
  }
}

function stdioWith(inherited: readonly number[]): StdioOptions {
  const gap = Array<'ignore'>(FIRST_INHERITED - 3).fill('ignore');
  return ['ignore', 'pipe', 'pipe', ...(inherited.length === 0 ? [] : [...gap, ...inherited])];
}

/** The journal files named in the servers' arguments. */
function marksOf(servers: GatewayOptions['servers']): string[] {
  return Object.values(servers).flatMap((server) => {
    const args = Array.isArray(server['args']) ? (server['args'] as unknown[]) : [];
    return args.filter((arg, i): arg is string => args[i - 1] === '--journal' && arg !== '');
  });
}

/**
 * Starts a gateway and waits until both listeners are open (and, by default, until it is ready).
 * @throws Error with its log when it ends or does not come up in time.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const running = new GatewayProcess(options);
  try {
    const opened = (listener: string) => (line: LogLine) =>
      line['msg'] === 'listening' && line['listener'] === listener;
    const open = await running.waitForLog(opened('public'), 40_000);
    const admin = await running.waitForLog(opened('admin'), 40_000);
    if (options.waitReady !== false) {
      await running.waitForLog((line) => line['msg'] === 'ready', 60_000);
    }
    return new Gateway(running, String(open['url']), String(admin['url']));
  } catch (error) {
    await running.end('SIGKILL', 10_000).catch(() => undefined);
    throw error;
  }
}
