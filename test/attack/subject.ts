// The gateway under attack, started as a user does it: the real process with a configuration file, keys,
// default limits and real servers. Only its heap is bounded by a flag, and the probe is loaded first.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Endpoint } from '../bench/wire-text.ts';
import { TestKeys } from '../support/api-keys.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { descendants } from '../support/processes.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { Attack, Entries } from './attack.ts';
import { Child } from './child.ts';
import { Probe, probeArgs, whyArgs } from './probe.ts';
import type { RemoteReply } from './servers/remote.ts';
import { ECHO_SERVER, echoServer, remoteServer, SERVER, server } from './servers.ts';
import type { Facts, KeyName } from './target.ts';

const NODE_ARGS = ['--initial-old-space-size=96', '--max-old-space-size=256'];
const START_LIMIT_MS = 20_000;

type Remote = Child<never, RemoteReply>;

/** The servers that are always there. */
const SERVERS: Entries = { steady: echoServer(), shared: server() };

const RULES = [
  { who: { keys: ['victim'] }, servers: ['steady', 'shared'] },
  {
    who: { keys: ['low'] },
    servers: ['shared'],
    tools: ['echo', 'read_*'],
    resources: ['file:///data/*'],
  },
  { who: { keys: ['attacker'] }, servers: '*' },
];

/** What the gateway is started with besides the usual. */
export interface Equipment extends Pick<Attack, 'servers' | 'config' | 'openFiles' | 'remote'> {
  /** A checkout of other sources. */
  readonly checkout: string | undefined;
  /** Whether it is sampled what long turns do. */
  readonly asksWhy: boolean;
}

/** One gateway with its probe. */
export class Subject {
  readonly gateway: Gateway;
  readonly probe: Probe;
  readonly port: number;
  readonly #keys: TestKeys;
  readonly #remote: Remote | undefined;
  readonly #whyFile: string;

  private constructor(
    gateway: Gateway,
    probe: Probe,
    parts: { readonly keys: TestKeys; readonly remote: Remote | undefined; whyFile: string },
  ) {
    const { keys, remote, whyFile } = parts;
    this.#whyFile = whyFile;
    this.gateway = gateway;
    this.probe = probe;
    this.#remote = remote;
    this.port = Number(new URL(gateway.url).port);
    this.#keys = keys;
  }

  /** @throws Error when it does not come up */
  static async start(equipment: Equipment): Promise<Subject> {
    const remote: Remote | undefined =
      equipment.remote === undefined
        ? undefined
        : new Child('servers/remote.ts', [equipment.remote]);
    try {
      const port = (await remote?.next(START_LIMIT_MS))?.port;
      return await Subject.#start(equipment, port, remote);
    } catch (error) {
      await remote?.kill();
      throw error;
    }
  }

  static async #start(
    { servers, config, openFiles, checkout, asksWhy }: Equipment,
    remotePort: number | undefined,
    remote: Remote | undefined,
  ): Promise<Subject> {
    const keys = new TestKeys();
    for (const name of ['victim', 'low', 'attacker']) keys.add(name);
    const prefix = join(tempDir(), 'probe');
    const whyFile = join(tempDir(), 'why');
    const remotes = remotePort === undefined ? {} : remoteServer(remotePort);
    const allServers = { ...SERVERS, ...servers, ...remotes };
    const names = Object.keys(allServers);
    const allow = RULES.map((rule) => (rule.servers === '*' ? { ...rule, servers: names } : rule));
    const limit = ['prlimit', `--nofile=${openFiles}:${openFiles}`];
    const gateway = await startGateway({
      servers: allServers,
      log: { level: 'info' },
      config: { auth: { keys: { file: keys.file }, allow }, ...config },
      nodeArgs: [...NODE_ARGS, ...probeArgs(prefix), ...(asksWhy ? whyArgs(whyFile) : [])],
      startedBy: openFiles === undefined ? [] : limit,
      ...(checkout === undefined ? {} : { checkout }),
    });
    return new Subject(gateway, new Probe(gateway.pid, prefix), { keys, remote, whyFile });
  }

  /** What an attacking process has to know. */
  facts(worker: number): Facts {
    const key = (name: KeyName): string => this.#keys.key(name);
    const keys = { victim: key('victim'), low: key('low'), attacker: key('attacker') };
    return { port: this.port, keys, worker };
  }

  /** Where the victim calls, and the processes that its calls go through. */
  victimPath(server: 'steady' | 'shared'): { endpoint: Endpoint; pids: readonly number[] } {
    const mark = server === 'steady' ? ECHO_SERVER : SERVER;
    const servers = descendants(this.gateway.pid).filter(({ cmdline }) => cmdline.includes(mark));
    const credentials = `Authorization: Bearer ${this.#keys.key('victim')}\r\n`;
    return {
      endpoint: { port: this.port, path: `/servers/${server}/mcp`, credentials },
      pids: [this.gateway.pid, ...servers.map(({ pid }) => pid)],
    };
  }

  /** How it ended when it has ended by itself. */
  async obituary(): Promise<string | undefined> {
    if (this.gateway.isRunning) return undefined;
    const { code, signal } = await this.gateway.exit;
    return `ended with ${signal ?? `status ${code}`}`;
  }

  /** From now on it is measured. */
  begin(): void {
    this.probe.begin();
    writeFileSync(`${this.#whyFile}.begin`, '');
  }

  /** What it did in its longest turn so far, when that is known. */
  why(): string | undefined {
    return existsSync(this.#whyFile) ? readFileSync(this.#whyFile, 'utf8') : undefined;
  }

  async close(): Promise<void> {
    this.probe.close();
    await this.gateway.kill();
    await this.#remote?.kill();
  }
}
