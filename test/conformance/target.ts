/**
 * Owns what the suite is pointed at: the gateway in front of the fixtures, or the fixtures themselves
 * over HTTP. All announce themselves in the same way, as JSON lines on stderr.
 */

import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startNode, stopChild } from './child-processes.ts';
import type { Fixture } from './suites.ts';

/** How the gateway shares the fixture's process; `sharing` of the configuration. */
export type Sharing = 'shared' | 'principal' | 'session';

/** What is running, with an endpoint for each fixture. */
export interface Target {
  /** The endpoints' URLs, with their paths. */
  readonly urls: Readonly<Record<Fixture, string>>;
  /** Stops it; false when it did not end cleanly. */
  readonly stop: () => Promise<boolean>;
}

/** The time to start and to stop, in ms. Node on two busy cores needs seconds. */
const START_MS = 30_000;
const STOP_MS = 15_000;

/**
 * 0.1.16 leaves its sessions behind without a DELETE, and here each of them has a process. So they
 * are ended soon, and all clients together, one principal without authentication, may have more.
 */
const PROCESS_PER_SESSION = {
  sessions: { idle: '10s' },
  processes: { max: 64, maxPerPrincipal: 64 },
};

/** How much of the log goes into the error of a start that failed. */
const LAST_LINES = 5;

function sibling(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/**
 * Writes the gateway's configuration.
 * @param dir an existing directory
 * @returns the file's path
 */
async function writeConfig(dir: string, sharing: Sharing): Promise<string> {
  const file = join(dir, 'sluice.yaml');
  const command = process.execPath;
  const servers: Record<Fixture, object> = {
    legacy: { command, args: [sibling('legacy-server.ts')], sharing },
    modern: { command, args: [sibling('modern-server.ts')], sharing },
  };
  const config = {
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    // Scenarios leave calls behind that nobody answers, and the next one's must not wait for them.
    state: { ttl: '500ms' },
    servers,
    ...(sharing === 'session' ? PROCESS_PER_SESSION : {}),
  };
  // JSON is YAML.
  await writeFile(file, JSON.stringify(config, null, 2));
  return file;
}

/** The fields that matter of a line on stderr; undefined when it is no JSON object. */
function parseLine(line: string): Partial<Record<'msg' | 'listener' | 'url', unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Starts a script and waits until it says that it is ready.
 * @param args script and arguments
 * @param log the file for its stderr, which is made
 * @returns the origin of its URLs, and how to stop it
 * @throws when it ends first, or is not ready in 30 s
 */
async function start(
  args: readonly string[],
  log: string,
): Promise<Pick<Target, 'stop'> & { origin: string }> {
  const child = startNode(args);
  const sink = createWriteStream(log);
  child.stderr.pipe(sink);
  child.stdout.resume();
  const origin = await new Promise<string>((resolve, reject) => {
    let url: string | undefined;
    const lastLines: string[] = [];
    const fail = (why: string) => {
      clearTimeout(timer);
      reject(new Error([`${why}; its log is ${log}`, ...lastLines].join('\n')));
    };
    const timer = setTimeout(() => fail(`not ready after ${START_MS} ms`), START_MS);
    child.once('error', (error) => fail(`cannot start: ${error.message}`));
    child.once('close', (code, signal) => fail(`ended with ${signal ?? code} before it was ready`));
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (lastLines.push(line) > LAST_LINES) lastLines.shift();
      const entry = parseLine(line);
      if (entry?.msg === 'listening' && entry.listener === 'public') url = String(entry.url);
      if (entry?.msg !== 'ready' || url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  }).catch(async (error: unknown) => {
    await stopChild(child, STOP_MS);
    throw error;
  });
  return { origin, stop: () => stopChild(child, STOP_MS) };
}

/**
 * Starts the gateway with both fixtures behind it.
 * @param dir an existing directory, for configuration and log
 */
export async function startGateway(dir: string, sharing: Sharing): Promise<Target> {
  const config = await writeConfig(dir, sharing);
  const args = [sibling('../../src/main.ts'), 'serve', '--config', config];
  const { origin, stop } = await start(args, join(dir, 'target.log'));
  return {
    urls: { legacy: `${origin}/servers/legacy/mcp`, modern: `${origin}/servers/modern/mcp` },
    stop,
  };
}

/**
 * Starts both fixtures over HTTP, without the gateway.
 * @param dir an existing directory, for the logs
 */
export async function startDirect(dir: string): Promise<Target> {
  const script = sibling('direct-http.ts');
  const legacy = await start([script, 'legacy'], join(dir, 'legacy.log'));
  const modern = await start([script, 'modern'], join(dir, 'modern.log'));
  return {
    urls: { legacy: `${legacy.origin}/mcp`, modern: `${modern.origin}/mcp` },
    stop: async () => {
      const ends = await Promise.all([legacy.stop(), modern.stop()]);
      return ends.every((isClean) => isClean);
    },
  };
}
