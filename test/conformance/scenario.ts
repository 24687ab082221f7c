/**
 * Owns one process of the suite, for one scenario or for all, and what the checks amount to. The suite's
 * exit status is not enough, since a scenario passes when nothing was verified.
 */

import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startNode } from './child-processes.ts';
import type { Suite } from './suites.ts';

/** What became of a scenario. Only `failed`, `hung` and `not run` count as failed. */
export type Verdict = 'passed' | 'warnings' | 'empty' | 'failed' | 'hung' | 'not run';

/** A scenario's verdict, and the checks or the trouble behind it. */
export interface Outcome {
  readonly scenario: string;
  readonly verdict: Verdict;
  /** One line each; empty for a plain pass. */
  readonly reasons: readonly string[];
}

/** The fields that are read of a check in `checks.json`. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** 0.2 adds this one to every scenario: it is about the wire and verifies nothing else. */
const WIRE_CHECK = 'wire-schema-valid';

/** How 0.2 says that it gave up waiting. */
const TIMEOUT_CHECK = 'scenario-timeout';

/** Whether a scenario with this verdict counts as passed. */
export function counts(verdict: Verdict): boolean {
  return verdict === 'passed' || verdict === 'warnings' || verdict === 'empty';
}

function judge(scenario: string, checks: readonly Check[]): Outcome {
  const describe = (status: string) =>
    checks
      .filter((check) => check.status === status)
      .map(({ id, errorMessage }) => (errorMessage === undefined ? id : `${id}: ${errorMessage}`));
  const failures = describe('FAILURE');
  if (failures.length > 0) {
    const hung = checks.some(({ id }) => id === TIMEOUT_CHECK);
    return { scenario, verdict: hung ? 'hung' : 'failed', reasons: failures };
  }
  const warnings = describe('WARNING');
  if (warnings.length > 0) return { scenario, verdict: 'warnings', reasons: warnings };
  const verified = checks.some(({ id, status }) => status === 'SUCCESS' && id !== WIRE_CHECK);
  return { scenario, verdict: verified ? 'passed' : 'empty', reasons: [] };
}

/** Runs the suite's process to its end; undefined when it took too long and was killed. */
async function runProcess(
  args: readonly string[],
  cwd: string,
  limitMs: number,
): Promise<{ status: number | null; output: string } | undefined> {
  const child = startNode(args, cwd);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-4096);
    });
  }
  let killed = false;
  const timer = setTimeout(() => {
    killed = true;
    child.kill('SIGKILL');
  }, limitMs);
  try {
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    return killed ? undefined : { status, output };
  } finally {
    clearTimeout(timer);
  }
}

/** A result's folder is named after its scenario and the time. */
const RESULT = /^server-(.+)-\d{4}-\d{2}-\d{2}T[^/\\]*[/\\]checks\.json$/;

/** The checks that the suite left under `dir`, by scenario. */
async function readChecks(dir: string): Promise<Map<string, readonly Check[]>> {
  const checks = new Map<string, readonly Check[]>();
  for (const name of await readdir(dir, { recursive: true })) {
    const scenario = RESULT.exec(name)?.[1];
    if (scenario === undefined) continue;
    checks.set(scenario, JSON.parse(await readFile(join(dir, name), 'utf8')) as readonly Check[]);
  }
  return checks;
}

/**
 * Runs one process of the suite.
 * @param scenarios those that its selection runs, in the suite's order
 * @param selection the options that select them
 * @param url the endpoint
 * @param dir an existing directory; the suite's results go into a new one below it
 * @param limitMs after this time, in ms, it is killed: the scenario that it was at counts as hung
 * @returns an outcome for each of the scenarios
 */
export async function runScenarios(
  suite: Suite,
  scenarios: readonly string[],
  selection: readonly string[],
  url: string,
  dir: string,
  limitMs: number,
): Promise<Outcome[]> {
  const results = await mkdtemp(join(dir, 'run-'));
  const own = ['server', '--url', url, ...selection, '-o', results];
  const args = [suite.cli, ...own, ...suite.options, ...suite.serverOptions];
  const ended = await runProcess(args, results, limitMs);
  const checks = await readChecks(results);
  const lastLine = ended?.output.trim().split('\n').at(-1) ?? '';
  const why = ended === undefined ? '' : `exit status ${ended.status}: ${lastLine}`;
  let isAt = ended === undefined;
  const outcomes = scenarios.map((scenario): Outcome => {
    const found = checks.get(scenario);
    if (found !== undefined) return judge(scenario, found);
    if (ended !== undefined) return { scenario, verdict: 'failed', reasons: [why] };
    const verdict = isAt ? 'hung' : 'not run';
    isAt = false;
    return { scenario, verdict, reasons: [`killed after ${Math.round(limitMs / 1000)} s`] };
  });
  const allPassed = outcomes.every(({ verdict }) => counts(verdict));
  if (ended === undefined || ended.status === 0 || !allPassed) return outcomes;
  // It found something that its checks don't show.
  return outcomes.map(({ scenario }) => ({ scenario, verdict: 'failed', reasons: [why] }));
}
