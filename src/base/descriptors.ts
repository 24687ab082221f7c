// How many file descriptors this process may have. Connections, pipes to processes and files each need one.
import { readTextFile } from './bounded-file.ts';

const LIMITS_FILE = '/proc/self/limits';
const MAX_LIMITS_BYTES = 64 * 1024;

/** The limit of this process; infinite if the system does not tell. */
export function descriptorLimit(): number {
  try {
    return descriptorLimitIn(readTextFile(LIMITS_FILE, MAX_LIMITS_BYTES));
  } catch {
    return reportedLimit(); // not Linux
  }
}

/** The soft limit of open files, in the text of `/proc/PID/limits` (proc_pid_limits(5)). */
export function descriptorLimitIn(limits: string): number {
  const count = /^Max open files\s+(\d+)\s/m.exec(limits)?.[1];
  return count === undefined ? Number.POSITIVE_INFINITY : Number(count);
}

function reportedLimit(): number {
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
}
