// `sluice pin`: shows how the tools of the servers differ from the accepted ones, and writes the lock file if
// the user accepts. Only this command writes that file.

import { EXIT } from '../base/exit-codes.ts';
import { compareTools } from '../catalog/pins/comparison.ts';
import {
  type Lock,
  LockFileError,
  lockFileOf,
  type PinnedTools,
  readLockFile,
  writeLockFile,
} from '../catalog/pins/lock-file.ts';
import { comparisonReport, plain } from '../catalog/pins/report.ts';
import type { Config } from '../config/config.ts';
import type { Environment } from '../upstream/stdio/environment.ts';
import { untilStopped } from './stop.ts';
import { type Survey, surveyTools } from './tool-survey.ts';

const NO_TOOLS: PinnedTools = new Map();

/** What `sluice pin` gets in addition to the configuration. */
export interface PinOptions {
  readonly version: string;
  readonly environment: Environment;
  /** Only these servers; empty: all. */
  readonly servers: readonly string[];
  /** Accept without asking. */
  readonly isYes: boolean;
  readonly isDryRun: boolean;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Asks the user; undefined without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * Compares, asks and writes.
 * @param config read from a file
 * @returns the exit status
 */
export async function runPin(config: Config, options: PinOptions): Promise<number> {
  const { servers: names, err } = options;
  const unknown = names.find((name) => !config.servers.some((server) => server.name === name));
  if (unknown !== undefined || config.file === undefined) {
    const known = config.servers.map(({ name }) => name).join(', ');
    err(`sluice: there is no server "${unknown ?? ''}": must be one of ${known}\n`);
    return EXIT.usage;
  }
  const path = lockFileOf(config.file);
  try {
    const lock = readLockFile(path);
    return await pin({ path, lock, config, options });
  } catch (error) {
    if (!(error instanceof LockFileError)) throw error;
    err(`sluice: ${error.message}\n`);
    return EXIT.failure;
  }
}

interface Task {
  readonly path: string;
  readonly lock: Lock;
  readonly config: Config;
  readonly options: PinOptions;
}

async function pin({ path, lock, config, options }: Task): Promise<number> {
  const { servers: names, out } = options;
  const servers = config.servers.filter(({ name }) => names.length === 0 || names.includes(name));
  const interrupted = untilStopped(false).reason;
  const surveys = await surveyTools(config, servers, { ...options, interrupted });
  if (surveys === undefined) return EXIT.failure;
  const next = new Map(lock);
  // All functions run, so that everything is shown.
  const isDifferent = [
    ...surveys.map((survey) => review(survey, next, options)),
    ...(names.length === 0 ? forgotten(config, next, options) : []),
  ].includes(true);
  const status = surveys.some((survey) => 'failure' in survey) ? EXIT.failure : EXIT.ok;
  if (!isDifferent) {
    if (status === EXIT.ok) out('All tools are as accepted.\n');
    return status;
  }
  if (!(await isAccepted(options, interrupted))) return EXIT.failure;
  writeLockFile(path, next);
  out(`Accepted, written to ${path}\n`);
  return status;
}

/** Shows the differences of one server. @returns whether there are any */
function review(survey: Survey, next: Map<string, PinnedTools>, { out, err }: PinOptions): boolean {
  const { server } = survey;
  if ('failure' in survey) {
    err(`${server}: the tools can't be listed: ${plain(survey.failure)}\n`);
    return false;
  }
  const comparison = compareTools(next.get(server) ?? NO_TOOLS, survey.tools);
  out(comparisonReport(server, comparison));
  if (comparison.listed.size === 0) next.delete(server);
  else next.set(server, comparison.listed);
  return comparison.changes.length > 0;
}

/** Removes accepted tools of servers that are no longer configured. */
function forgotten(config: Config, next: Map<string, PinnedTools>, options: PinOptions): true[] {
  const configured = new Set(config.servers.map(({ name }) => name));
  const gone = [...next].filter(([server]) => !configured.has(server));
  return gone.map(([server, tools]) => {
    options.out(`${plain(server)}: is not configured any more, ${tools.size} removed\n`);
    next.delete(server);
    return true;
  });
}

async function isAccepted(options: PinOptions, interrupted: Promise<unknown>): Promise<boolean> {
  const { isDryRun, isYes, confirm, err } = options;
  if (isDryRun) return false;
  if (isYes) return true;
  if (confirm === undefined) {
    err('Nothing was accepted: read the differences, then run it again with --yes\n');
    return false;
  }
  const answer = confirm('Accept all of this? [y/N] ');
  return await Promise.race([answer, interrupted.then(() => false)]);
}
