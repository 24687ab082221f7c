// The gateway under attack, started as a user does it: the real process with a configuration file, keys,
// default limits and real servers. Only its heap is bounded by a flag, and the probe is loaded first.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Endpoint } from '../bench/wire-text.ts';
import { TestKeys } from '../support/api-keys.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { fetchMetrics } from '../support/metrics.ts';
import { descendants } from '../support/processes.ts';
import { programFlags } from '../support/program-flags.ts';
import { ROOT } from '../support/root.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import type { Attack, Entries } from './attack.ts';
import { Child } from './child.ts';
import { goFirst, PREFERRED } from './priority.ts';
import { Probe, probeArgs, whyArgs } from './probe.ts';
import type { RemoteReply } from './servers/remote.ts';
import { ECHO_SERVER, echoServer, remoteServer, SERVER, server } from './servers.ts';
import type { Facts, KeyName } from './target.ts';

/** What the image sets for its allocator. */
const IMAGE_VARIABLES =
  readFileSync(join(ROOT, 'Dockerfile'), 'utf8').match(/\b(?:LD_PRELOAD|MALLOC_CONF)=\S+/g) ?? [];
/** Whether this machine has the allocator of the image (Debian's libjemalloc2). */
export const hasJemalloc = readdirSync('/usr/lib').some((folder) =>
  existsSync(join('/usr/lib', folder, 'libjemalloc.so.2')),
);
/** As a user starts it, with half of the memory. */
const { variables, nodeArgs } = programFlags();
const NODE_ARGS = [...nodeArgs, '--max-old-space-size=256'];
const START_LIMIT_MS = 20_000;
const WHY_LIMIT_MS = 20_000;

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

interface Parts {
  readonly keys: TestKeys;
  readonly remote: Remote | undefined;
  readonly whyFile: string;
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
  readonly #asksWhy: boolean;

  private constructor(gateway: Gateway, probe: Probe, parts: Parts) {
    const { keys, remote, whyFile, asksWhy } = parts;
    this.#whyFile = whyFile;
    this.#asksWhy = asksWhy;
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
    const limit = openFiles === undefined ? [] : ['prlimit', `--nofile=${openFiles}:${openFiles}`];
    const gateway = await startGateway({
      servers: allServers,
      log: { level: 'info' },
      config: { auth: { keys: { file: keys.file }, allow }, ...config },
      nodeArgs: [...NODE_ARGS, ...probeArgs(prefix), ...(asksWhy ? whyArgs(whyFile) : [])],
      // The attack may be ended from outside, and then nobody ends it.
      args: ['--exit-with-parent'],
      startedBy: [
        ...PREFERRED,
        ...limit,
        'env',
        ...variables,
        ...(hasJemalloc ? IMAGE_VARIABLES : []),
      ],
      ...(checkout === undefined ? {} : { checkout }),
    });
    for (const pid of serverPids(gateway, ECHO_SERVER)) goFirst(pid);
    return new Subject(gateway, new Probe(gateway.pid, prefix), { keys, remote, whyFile, asksWhy });
  }

  /** What an attacking process has to know. */
  facts(worker: number): Facts {
    const key = (name: KeyName): string => this.#keys.key(name);
    const keys = { victim: key('victim'), low: key('low'), attacker: key('attacker') };
    return { port: this.port, keys, worker };
  }

  /** Where the victim calls, and the processes that its calls go through: the gateway first. */
  victimPath(server: 'steady' | 'shared'): { endpoint: Endpoint; pids: readonly number[] } {
    const credentials = `Authorization: Bearer ${this.#keys.key('victim')}\r\n`;
    const servers = serverPids(this.gateway, server === 'steady' ? ECHO_SERVER : SERVER);
    return {
      endpoint: { port: this.port, path: `/servers/${server}/mcp`, credentials },
      pids: [this.gateway.pid, ...servers.slice(0, 1)],
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

  /** What it did in its longest turn since then; empty when that is not known. */
  async why(): Promise<string> {
    if (!this.#asksWhy || !this.gateway.isRunning) return '';
    writeFileSync(`${this.#whyFile}.end`, '');
    const what = 'what the longest turn did';
    await until(() => existsSync(this.#whyFile), { timeoutMs: WHY_LIMIT_MS, what });
    return readFileSync(this.#whyFile, 'utf8');
  }

  /** What it holds for somebody now, by kind. */
  async held(): Promise<ReadonlyMap<string, number>> {
    const samples = await fetchMetrics(this.gateway.adminUrl);
    const held = samples.filter(({ name, value }) => name === 'sluice_held_bytes' && value !== 0);
    return new Map(held.map(({ labels, value }) => [labels['kind'] ?? '', value]));
  }

  async close(): Promise<void> {
    this.probe.close();
    await this.gateway.kill();
    await this.#remote?.kill();
  }
}

/** The processes of the gateway that were started from this file. */
function serverPids({ pid }: Gateway, file: string): number[] {
  const own = descendants(pid).filter(({ cmdline }) => cmdline.includes(file));
  return own.map((info) => info.pid);
}
