/**
 * What /proc says about processes: the descendants of one, whether some are gone, and which still carry
 * a mark in their command line. Linux only, as the tests are.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { WATCHER_NAME } from '../../src/upstream/stdio/group-watcher.ts';
import { PATIENCE_MS, until } from './until.ts';

export interface ProcessInfo {
  readonly pid: number;
  readonly ppid: number;
  /** Process group id. */
  readonly pgid: number;
  /** One letter of proc(5): R running, S sleeping, Z zombie, ... */
  readonly state: string;
  /** The arguments joined by spaces; empty for a zombie. */
  readonly cmdline: string;
}

/** Reads one process, or undefined when it does not exist (any more). */
export function processInfo(pid: number): ProcessInfo | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const cmdline = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    // The command name stands in parentheses and may hold spaces: count from the last one.
    const [state = '', ppid, pgid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, ppid: Number(ppid), pgid: Number(pgid), state, cmdline };
  } catch {
    return undefined;
  }
}

/** Every process that this user can see. */
export function allProcesses(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processInfo(Number(name)))
    .filter((info) => info !== undefined);
}

/** Children, grandchildren and so on of `pid`, zombies included. */
export function descendants(pid: number): ProcessInfo[] {
  const all = allProcesses();
  const found: ProcessInfo[] = [];
  let parents = new Set([pid]);
  while (parents.size > 0) {
    const children = all.filter((info) => parents.has(info.ppid));
    found.push(...children);
    parents = new Set(children.map((info) => info.pid));
  }
  return found;
}

/** The descendants of a gateway that servers are: all but the process that watches them. */
export function serverProcesses(pid: number): ProcessInfo[] {
  return descendants(pid).filter((info) => !isWatcher(info));
}

/** The process that ends servers when a gateway is killed; undefined when it has none. */
export function watcherOf(pid: number): ProcessInfo | undefined {
  return descendants(pid).find((info) => isWatcher(info) && info.state !== 'Z');
}

function isWatcher({ cmdline }: ProcessInfo): boolean {
  return cmdline.endsWith(` ${WATCHER_NAME}`);
}

/** Live processes (no zombies) whose command line contains `mark`. */
export function processesMentioning(mark: string): ProcessInfo[] {
  return allProcesses().filter((info) => info.state !== 'Z' && info.cmdline.includes(mark));
}

/** Whether `pid` runs. An orphan's zombie, which only pid 1 can reap, counts as gone. */
export function isAlive(pid: number): boolean {
  const info = processInfo(pid);
  return info !== undefined && !(info.state === 'Z' && info.ppid <= 1);
}

/** Waits until none of `pids` is left. @throws Error naming the ones that are. */
export async function waitGone(pids: readonly number[], timeoutMs = PATIENCE_MS): Promise<void> {
  try {
    await until(() => pids.every((pid) => !isAlive(pid)), { timeoutMs });
  } catch {
    const left = pids.map(processInfo).filter((info) => info !== undefined);
    const lines = left.map((info) => `${info.pid} ${info.state} ${info.cmdline}`);
    throw new Error(`processes left after ${timeoutMs} ms:\n${lines.join('\n')}`);
  }
}
