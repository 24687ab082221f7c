/**
 * Owns every process that the conformance runner starts, so that none outlives it: whatever
 * way the runner ends, what is still alive is killed.
 */

import { type ChildProcess, spawn } from 'node:child_process';

const alive = new Set<ChildProcess>();

// `exit` also fires after an uncaught error. Only synchronous work is possible here.
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});
for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => process.exit(status));
}

/**
 * Starts this Node on a script, with no input and both outputs piped.
 * @param args script and arguments
 * @param cwd working directory; the runner's own by default
 */
export function startNode(args: readonly string[], cwd?: string) {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  alive.add(child);
  child.once('close', () => alive.delete(child));
  child.once('error', () => alive.delete(child));
  return child;
}

/**
 * Ends a process: TERM, then KILL when it has not ended in time.
 * @param graceMs time between the two, in ms
 * @returns true when it ended by itself with status 0
 */
export async function stopChild(child: ChildProcess, graceMs: number): Promise<boolean> {
  // Without a pid it never started, and no `exit` will come.
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await ended;
    clearTimeout(timer);
  }
  return child.exitCode === 0;
}
