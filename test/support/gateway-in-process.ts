/**
 * A gateway within the process of the tests: the same command line, configuration, sockets and servers, but
 * no start of Node. What it logs is collected; its signals are calls.
 */
import type { Reloads } from '../../src/app/reload.ts';
import { type RunOptions, runUntilStopped } from '../../src/app/run.ts';
import { createStop, type Stop } from '../../src/app/stop.ts';
import { main } from '../../src/cli/commands.ts';
import type { Config } from '../../src/config/config.ts';
import { createLogger } from '../../src/observe/logger.ts';
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

export class InProcessGateway {
  readonly log = new GatewayLog();
  readonly pid = process.pid;
  readonly folder: string;
  readonly exit: Promise<StopResult>;
  exited: StopResult | undefined;
  stdout = '';
  readonly #options: GatewayOptions;
  readonly #stop: Stop = createStop();
  #reloads: Reloads | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const { folder, file } = writeConfiguration(options);
    this.folder = folder;
    this.exit = this.#run(file);
  }

  signal(name: NodeJS.Signals): void {
    if (name === 'SIGHUP') {
      void this.#reloads?.request(name);
      return;
    }
    if (name === 'SIGKILL') throw new Error('only a process of its own can be killed');
    this.#stop.stop(name);
  }

  async end(signal: 'SIGTERM' | 'SIGKILL', timeoutMs: number): Promise<StopResult> {
    const children = this.#servers();
    if (signal === 'SIGKILL') this.#stop.isStopping = true;
    this.#stop.stop(signal);
    try {
      const result = await within(this.exit, timeoutMs, 'the end of the gateway');
      await waitGone(children, timeoutMs);
      await waitGone(leftovers(this.#options), timeoutMs);
      return result;
    } catch (error) {
      for (const pid of [...children, ...leftovers(this.#options)]) {
        if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      }
      throw error;
    }
  }

  /** Not all children of this process: another gateway may run in it. */
  #servers(): number[] {
    const pids = this.log.lines
      .filter((line) => line['msg'] === 'server ready' && typeof line['pid'] === 'number')
      .map((line) => Number(line['pid']));
    return pids.flatMap((pid) => [pid, ...descendants(pid).map((info) => info.pid)]);
  }

  async #run(file: string): Promise<StopResult> {
    const environment = { ...process.env, ...this.#options.env };
    const code = await main(['serve', '--config', file], {
      cwd: ROOT,
      environment,
      out: (text) => {
        this.stdout += text;
      },
      err: (text) => this.log.write(text),
      startGateway: (config, launch) => this.#serve(config, { ...launch, environment }),
      connect: notHere,
      pin: notHere,
    });
    this.exited = { code, signal: null };
    this.log.close(JSON.stringify(this.exited));
    return this.exited;
  }

  #serve(config: Config, options: RunOptions): Promise<number> {
    const logger = createLogger(config.log, { write: (text) => this.log.write(text) });
    return runUntilStopped(config, options, {
      logger,
      stop: this.#stop,
      onBuilt: (_, reloads) => {
        this.#reloads = reloads;
      },
    });
  }
}

function notHere(): Promise<number> {
  return Promise.reject(new Error('only serve'));
}
