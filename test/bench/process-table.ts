// What Linux says about processes under /proc: CPU time, memory, descendants. Refuses other systems.
import { readdirSync, readFileSync } from 'node:fs';

/** One process at one moment. */
export interface ProcessSample {
  /** User and system time of this process alone, without its children, in microseconds. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

/** The fields of /proc/PID/stat after the command's name, which may hold spaces and parentheses. */
function statFields(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * CPU time of all threads. The sum of user and system time in /proc/PID/stat is the same number in steps
 * of 10 ms, too coarse for a short round. Node's threads live as long as the process.
 */
function cpuMicros(pid: number): number {
  let nanos = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
    nanos += Number(text.slice(0, text.indexOf(' ')));
  }
  return nanos / 1000;
}

/**
 * CPU time and memory of one process.
 * @throws Error when it does not run
 */
export function sampleProcess(pid: number): ProcessSample {
  if (!isRunning(pid)) throw new Error(`process ${pid} does not run`);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const rssKiB = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN);
  return {
    cpuMicros: cpuMicros(pid),
    rssBytes: rssKiB * 1024,
  };
}

/**
 * All living descendants of a process, without itself. A zombie is not living.
 * @returns their pids, parents before children
 */
export function descendantsOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const fields = Number.isInteger(pid) ? statFields(pid) : undefined;
    if (fields === undefined || fields[0] === 'Z') continue;
    const parent = Number(fields[1]);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [pid]);
    else siblings.push(pid);
  }
  const found: number[] = [];
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    const next = children.get(pid) ?? [];
    found.push(...next);
    pending.push(...next);
  }
  return found;
}

/** Whether a process runs (a zombie does not). */
export function isRunning(pid: number): boolean {
  const fields = statFields(pid);
  return fields !== undefined && fields[0] !== 'Z';
}

/** A process with its start time, so that a reused pid is not taken for it. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

/** Names a process so that it can be told from a later one with the same pid. */
export function identify(pid: number): ProcessIdentity | undefined {
  const startTime = statFields(pid)?.[19];
  return startTime === undefined ? undefined : { pid, startTime };
}

/** Whether exactly that process still runs. */
export function isStillRunning(process: ProcessIdentity): boolean {
  return isRunning(process.pid) && statFields(process.pid)?.[19] === process.startTime;
}
