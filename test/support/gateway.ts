/**
 * Starts the gateway on ports of its own choice, within this process or as one of its own, and stops it
 * again with proof that nothing is left: exit status, children, grandchildren.
 */
import type { LogLine } from './gateway-log.ts';
import { type GatewayOptions, rewriteConfiguration, type StopResult } from './gateway-options.ts';
import { GatewayProcess } from './gateway-process.ts';
import { PATIENCE_MS } from './until.ts';

export type { LogLine } from './gateway-log.ts';
export type { GatewayOptions, StopResult } from './gateway-options.ts';

/** One of the two ways to run it. */
type Running = Pick<
  GatewayProcess,
  'log' | 'pid' | 'folder' | 'exit' | 'exited' | 'stdout' | 'signal' | 'end'
>;

export class Gateway {
  /** `http://127.0.0.1:PORT` of the public listener. */
  readonly url: string;
  /** The same for the admin listener. */
  readonly adminUrl: string;
  readonly pid: number;
  /** The folder that holds the configuration file. */
  readonly folder: string;
  readonly #running: Running;

  constructor(running: Running, url: string, adminUrl: string) {
    this.#running = running;
    this.url = url;
    this.adminUrl = adminUrl;
    this.pid = running.pid;
    this.folder = running.folder;
  }

  /** The log lines so far, parsed; a line that is not JSON becomes `{ unparsed }`. */
  logs(): LogLine[] {
    return this.#running.log.lines;
  }

  /** The first log line that fits, waiting for it. */
  waitForLog(fits: (line: LogLine) => boolean, timeoutMs = PATIENCE_MS): Promise<LogLine> {
    return this.#running.log.waitFor(fits, timeoutMs);
  }

  /** What the gateway wrote to stdout: nothing, when all is well. */
  get stdout(): string {
    return this.#running.stdout;
  }

  /** The URL of an endpoint of one server: `mcp`, `sse`, `ws`. */
  endpoint(server: string, kind = 'mcp'): string {
    return `${this.url}/servers/${server}/${kind}`;
  }

  /** Whether the gateway's process still runs. */
  get isRunning(): boolean {
    return this.#running.exited === undefined;
  }

  /** The end of what it wrote to stderr. */
  lastStderrLine(): string {
    return this.#running.log.text.slice(-2000);
  }

  /**
   * Writes another configuration, has it read, and waits for the end of that.
   * @returns the log line that says how it ended
   */
  async reload(options: GatewayOptions): Promise<LogLine> {
    rewriteConfiguration(this.folder, options);
    const known = new Set(this.logs());
    this.signal('SIGHUP');
    const isEnd = ({ msg }: LogLine): boolean =>
      /^configuration (reloaded|refused)/.test(String(msg));
    return await this.waitForLog((line) => isEnd(line) && !known.has(line));
  }

  signal(name: NodeJS.Signals): void {
    this.#running.signal(name);
  }

  /** Resolves when the process has ended. */
  get exit(): Promise<StopResult> {
    return this.#running.exit;
  }

  /**
   * TERM, then waits for the exit and for every descendant to be gone.
   * @throws Error when the gateway does not end or leaves a process behind (it is killed then).
   */
  async stop(timeoutMs = PATIENCE_MS): Promise<StopResult> {
    return await this.#running.end('SIGTERM', timeoutMs);
  }

  /** KILL, then waits for every descendant to be gone. */
  async kill(timeoutMs = PATIENCE_MS): Promise<StopResult> {
    return await this.#running.end('SIGKILL', timeoutMs);
  }
}

/**
 * Starts a gateway and waits until both listeners are open (and, by default, until it is ready).
 * @throws Error with its log when it ends or does not come up in time.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const running = await run(options);
  try {
    const opened = (listener: string) => (line: LogLine) =>
      line['msg'] === 'listening' && line['listener'] === listener;
    const open = await running.log.waitFor(opened('public'), 40_000);
    const admin = await running.log.waitFor(opened('admin'), 40_000);
    if (options.waitReady !== false) {
      await running.log.waitFor((line) => line['msg'] === 'ready', 60_000);
    }
    return new Gateway(running, String(open['url']), String(admin['url']));
  } catch (error) {
    await running.end('SIGKILL', 10_000).catch(() => undefined);
    throw error;
  }
}

async function run(options: GatewayOptions): Promise<Running> {
  const { startedBy, nodeArgs, checkout, inherited, args } = options;
  const needsProcess = [startedBy, nodeArgs, checkout, inherited, args].some(Boolean);
  if (options.ownProcess ?? needsProcess) return new GatewayProcess(options);
  // Loaded on demand: programs that only start processes don't need the gateway's own modules.
  const { InProcessGateway } = await import('./gateway-in-process.ts');
  return new InProcessGateway(options);
}
