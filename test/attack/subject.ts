// The gateway under attack, started as a user does it: the real process with a configuration file, keys,
// default limits and real servers. Only its heap is bounded by a flag, and the probe is loaded first.
import { join } from 'node:path';
import type { Endpoint } from '../bench/wire-text.ts';
import { TestKeys } from '../support/api-keys.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { descendants } from '../support/processes.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { Attack, Entries } from './attack.ts';
import { Probe, probeArgs } from './probe.ts';
import type { Facts, KeyName } from './target.ts';

const HEAP_MIB = 256;
const ECHO_SERVER = join(import.meta.dirname, '..', 'bench', 'echo-server.ts');
const SERVER = join(import.meta.dirname, 'servers', 'server.ts');

/** The servers that are always there. */
const SERVERS: Entries = {
  steady: { command: process.execPath, args: [ECHO_SERVER] },
  shared: sharedServer(),
};

/** The server of this folder with these arguments, as the configuration has it. */
export function sharedServer(...args: string[]): Entries[string] {
  return { command: process.execPath, args: [SERVER, ...args] };
}

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
export interface Equipment extends Pick<Attack, 'servers' | 'config' | 'openFiles'> {
  /** A checkout of other sources. */
  readonly checkout: string | undefined;
}

/** One gateway with its probe. */
export class Subject {
  readonly gateway: Gateway;
  readonly probe: Probe;
  readonly port: number;
  readonly #keys: TestKeys;

  private constructor(gateway: Gateway, probe: Probe, keys: TestKeys) {
    this.gateway = gateway;
    this.probe = probe;
    this.port = Number(new URL(gateway.url).port);
    this.#keys = keys;
  }

  /** @throws Error when it does not come up */
  static async start({ servers, config, openFiles, checkout }: Equipment): Promise<Subject> {
    const keys = new TestKeys();
    for (const name of ['victim', 'low', 'attacker']) keys.add(name);
    const prefix = join(tempDir(), 'probe');
    const allServers = { ...SERVERS, ...servers };
    const names = Object.keys(allServers);
    const allow = RULES.map((rule) => (rule.servers === '*' ? { ...rule, servers: names } : rule));
    const gateway = await startGateway({
      servers: allServers,
      log: { level: 'info' },
      config: { auth: { keys: { file: keys.file }, allow }, ...config },
      nodeArgs: [
        '--initial-old-space-size=96',
        `--max-old-space-size=${HEAP_MIB}`,
        ...probeArgs(prefix),
      ],
      ...(openFiles === undefined
        ? {}
        : { startedBy: ['prlimit', `--nofile=${openFiles}:${openFiles}`] }),
      ...(checkout === undefined ? {} : { checkout }),
    });
    return new Subject(gateway, new Probe(gateway.pid, prefix), keys);
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

  async close(): Promise<void> {
    this.probe.close();
    await this.gateway.kill();
  }
}
