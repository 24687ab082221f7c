/** server-everything as a remote server, on a port of the system's choice, on loopback only. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ROOT } from './root.ts';
import { until, within } from './until.ts';

export class EverythingServer {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  static async start(mode: 'streamableHttp' | 'sse'): Promise<EverythingServer> {
    const port = await freePort();
    // It listens on every address unless it is told otherwise before it starts.
    const loopback = join(ROOT, 'test/bench/loopback-only.ts');
    const program = join(ROOT, 'node_modules/.bin/mcp-server-everything');
    const child = spawn(process.execPath, ['--import', loopback, program, mode], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    await until(() => /listening|running/i.test(log), { what: `server-everything ${mode}` });
    const path = mode === 'sse' ? 'sse' : 'mcp';
    return new EverythingServer(`http://127.0.0.1:${port}/${path}`, child);
  }

  async close(): Promise<void> {
    const exit = new Promise((resolve) => {
      this.#child.once('exit', resolve);
    });
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGKILL');
    await within(exit, 10_000, 'exit of server-everything');
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
      probe.close(() => resolve(port));
    });
  });
}
