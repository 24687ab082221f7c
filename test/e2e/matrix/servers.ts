/**
 * The four servers of the compatibility matrix, made with the official SDKs: two that the gateway starts
 * on stdio, and two that run already and are reached over Streamable HTTP.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { GatewayOptions } from '../../support/gateway.ts';
import { fixtureServer, type Journal } from '../../support/scripted-server.ts';
import { until, within } from '../../support/until.ts';
import type { ServerName } from './rows.ts';

/**
 * Roots belong to one client, and a shared server is offered none of them: legacy servers have a
 * process (or a session) for each legacy client, and one for all modern clients of a principal.
 */
const PRIVATE = { sharing: 'session' };

/** A server that runs whether or not there is a gateway. */
class RemoteProcess {
  readonly #child: ChildProcess;
  #stderr = '';

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, [...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
  }

  /** Where it listens, once it does. */
  url(): Promise<string> {
    return until(() => /"url":"([^"]+)"/.exec(this.#stderr)?.[1], { what: 'a remote server' });
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exit = new Promise((resolve) => {
      this.#child.once('exit', resolve);
    });
    this.#child.kill('SIGTERM');
    await within(exit, 10_000, 'exit of a remote server');
  }
}

/** The servers of one gateway. */
export class MatrixServers {
  readonly journals: Readonly<Record<ServerName, Journal>>;
  readonly #stdio = {
    legacy: fixtureServer('matrix-v1.ts', { config: PRIVATE }),
    modern: fixtureServer('matrix-v2.ts'),
  };
  readonly #remote = {
    legacy: fixtureServer('matrix-v1.ts', { args: ['--http'] }),
    modern: fixtureServer('matrix-v2.ts', { args: ['--http'] }),
  };
  readonly #running: RemoteProcess[] = [];

  constructor() {
    this.journals = {
      'legacy-stdio': this.#stdio.legacy.journal,
      'modern-stdio': this.#stdio.modern.journal,
      'legacy-remote': this.#remote.legacy.journal,
      'modern-remote': this.#remote.modern.journal,
    };
  }

  /** Starts the remote ones. @returns what the gateway has to be told */
  async start(): Promise<GatewayOptions> {
    const [legacy, modern] = await Promise.all([
      this.#startRemote(this.#remote.legacy.config),
      this.#startRemote(this.#remote.modern.config),
    ]);
    const servers = {
      'legacy-stdio': this.#stdio.legacy.config,
      'modern-stdio': this.#stdio.modern.config,
      'legacy-remote': { url: legacy, ...PRIVATE },
      'modern-remote': { url: modern },
    } satisfies Record<ServerName, unknown>;
    // All clients are one principal here.
    return { ownProcess: true, servers, config: { processes: { max: 64, maxPerPrincipal: 64 } } };
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map((process) => process.close()));
  }

  #startRemote(config: Readonly<Record<string, unknown>>): Promise<string> {
    const { command, args } = config as { command: string; args: string[] };
    const process = new RemoteProcess(command, args);
    this.#running.push(process);
    return process.url();
  }
}
