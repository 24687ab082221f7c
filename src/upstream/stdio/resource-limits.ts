// Limits of one child process, set by the operating system (getrlimit(2)) through prlimit(1) of util-linux,
// which then becomes the program itself. No shell is involved.
import { statSync } from 'node:fs';
import { byteSize, duration, integer, type KeyOptions } from '../../base/options.ts';

const MAX_BYTES = 1024 ** 4;
const PLACES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/** Keys under `limits:`, for processes only. */
export const resourceKeys = {
  memory: byteSize(1024 ** 2, MAX_BYTES)
    .optional()
    .meta({
      description:
        'Data memory of the process (RLIMIT_DATA). Each of its child processes has the same limit. Node.js needs 1GiB to start.',
    }),
  openFiles: integer(8, 1_048_576).optional().meta({
    description: 'Open files and sockets of the process (RLIMIT_NOFILE).',
  }),
  processes: integer(1, 1_000_000).optional().meta({
    description:
      'Processes and threads of the user of the process (RLIMIT_NPROC). The system counts all processes of that user, so use it together with `runAs`. It has no effect for root.',
  }),
  cpu: duration(1_000).optional().meta({
    description:
      'CPU time of the process (RLIMIT_CPU). When it is used up, the process is killed and started again.',
  }),
  fileSize: byteSize(1024, MAX_BYTES).optional().meta({
    description: 'Largest file that the process may write (RLIMIT_FSIZE).',
  }),
};

/** Undefined: the limit of the gateway. */
export type ResourceLimits = KeyOptions<typeof resourceKeys>;

/** Whether this system can set these limits. */
export function isLimitable(entry: ResourceLimits): boolean {
  const isAsked = Object.keys(resourceKeys).some((key) => Reflect.get(entry, key) !== undefined);
  return !isAsked || prlimitPath() !== undefined;
}

/**
 * The words before a command.
 * @throws Error if there is no prlimit
 */
export function limitingWords(limits: ResourceLimits): string[] {
  const { memory, openFiles, processes, cpu, fileSize } = limits;
  const options = [
    option('data', memory),
    option('nofile', openFiles),
    option('nproc', processes),
    option('cpu', cpu === undefined ? undefined : Math.ceil(cpu / 1_000)),
    option('fsize', fileSize),
  ].flat();
  if (options.length === 0) return [];
  const prlimit = prlimitPath();
  if (prlimit === undefined) throw new Error(NO_PRLIMIT);
  return [prlimit, ...options, '--'];
}

/** The error if it is missing. */
export const NO_PRLIMIT =
  'needs the program prlimit for memory, openFiles, processes, cpu and fileSize, and there is none: install util-linux, or remove these limits';

// Soft and hard limit, so that the process can't raise it.
function option(name: string, value: number | undefined): string[] {
  return value === undefined ? [] : [`--${name}=${value}:${value}`];
}

/** Not looked up on PATH, so that no environment variable decides what is started here. */
function prlimitPath(): string | undefined {
  return PLACES.map((folder) => `${folder}/prlimit`).find(
    (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
  );
}
