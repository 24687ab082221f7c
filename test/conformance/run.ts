/**
 * Owns `npm run test:conformance`: starts the gateway on the fixtures, runs both versions of the
 * official suite against it, reports what is not a plain pass and exits 0 only when as many
 * scenarios passed as suites.ts demands.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { counts, type Outcome, runScenarios } from './scenario.ts';
import { type Fixture, listScenarios, SUITES, type Suite } from './suites.ts';
import { type Sharing, startDirect, startGateway } from './target.ts';

const USAGE = `usage: node test/conformance/run.ts [options]
  --direct            test the fixtures themselves over HTTP, without the gateway
  --server ERA        only what is run with this server behind: legacy or modern
  --sharing MODE      shared (default), principal or session
  --scenario A,B      only these scenarios
  --keep              keep the results and the log even when all passed
`;

/** The longest a scenario may take, in ms: over the suite's own 30 s, so that it may report. */
const SCENARIO_MS = 40_000;
/** The longest all scenarios of a revision may take together, in ms. */
const SUITE_MS = 180_000;
/** The longest that everything may take, in ms. What is left then counts as not run. */
const TOTAL_MS = 600_000;

interface Options {
  readonly direct: boolean;
  readonly fixture: Fixture | undefined;
  readonly sharing: Sharing;
  readonly only: readonly string[] | undefined;
  readonly keep: boolean;
}

/** A suite with the scenarios of it that this run is about. */
interface Plan {
  readonly suite: Suite;
  readonly scenarios: readonly string[];
  /** Whether they are all that the suite's options select. */
  readonly isWhole: boolean;
  /** How many have to pass. */
  readonly expected: number;
}

class UsageError extends Error {}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      direct: { type: 'boolean', default: false },
      server: { type: 'string' },
      sharing: { type: 'string', default: 'shared' },
      scenario: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const { direct, server: fixture, sharing, scenario, keep } = values;
  if (sharing !== 'shared' && sharing !== 'principal' && sharing !== 'session') {
    throw new UsageError(`unknown sharing mode: ${sharing}`);
  }
  if (fixture !== undefined && fixture !== 'legacy' && fixture !== 'modern') {
    throw new UsageError(`unknown server: ${fixture}`);
  }
  return { direct, fixture, sharing, only: scenario?.split(','), keep };
}

/** How many of the scenarios can't pass behind this fixture. */
function known(suite: Suite, scenarios: readonly string[]): number {
  return scenarios.filter((name) => suite.failing.includes(name)).length;
}

function selectSuites({ direct, fixture }: Options): Suite[] {
  return SUITES.filter((suite) => {
    if (fixture !== undefined && suite.fixture !== fixture) return false;
    return suite.isDirect || !direct;
  });
}

async function makePlans(options: Options): Promise<Plan[]> {
  const { only } = options;
  const plans: Plan[] = [];
  for (const suite of selectSuites(options)) {
    const all = await listScenarios(suite);
    if (only === undefined) {
      const isWhole = suite.names === undefined;
      plans.push({ suite, scenarios: all, isWhole, expected: suite.expected });
      continue;
    }
    const scenarios = all.filter((name) => only.includes(name));
    if (scenarios.length === 0) continue;
    const expected = scenarios.length - known(suite, scenarios);
    plans.push({ suite, scenarios, isWhole: false, expected });
  }
  const names = new Set(plans.flatMap(({ scenarios }) => scenarios));
  const unknown = only?.filter((name) => !names.has(name)) ?? [];
  if (unknown.length > 0) throw new UsageError(`unknown scenario: ${unknown.join(', ')}`);
  return plans;
}

/**
 * Runs the plan's scenarios one after the other: those of a server that asks its client can't overlap
 * on a shared process (docs/protocol.md#attribution). All of a revision are one process of the suite,
 * since starting it takes longer than most of them.
 */
async function runPlan(plan: Plan, url: string, dir: string, deadline: number): Promise<Outcome[]> {
  const { suite, scenarios, isWhole } = plan;
  const left = () => deadline - performance.now();
  if (isWhole) {
    const limitMs = Math.min(SUITE_MS, left());
    return await runScenarios(suite, scenarios, ['--suite', 'all'], url, dir, limitMs);
  }
  const outcomes: Outcome[] = [];
  for (const scenario of scenarios) {
    const limitMs = Math.min(SCENARIO_MS, left());
    const reasons = [`${TOTAL_MS / 1000} s are over`];
    outcomes.push(
      ...(limitMs > 0
        ? await runScenarios(suite, [scenario], ['--scenario', scenario], url, dir, limitMs)
        : [{ scenario, verdict: 'not run' as const, reasons }]),
    );
  }
  return outcomes;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function report(plan: Plan, outcomes: readonly Outcome[]): number {
  const passed = outcomes.filter(({ verdict }) => counts(verdict)).length;
  const wanted = passed === plan.expected ? '' : ` (expected ${plan.expected})`;
  print(`${plan.suite.label}: passed ${passed} of ${outcomes.length}${wanted}`);
  for (const { scenario, verdict, reasons } of outcomes) {
    if (verdict === 'passed') continue;
    const label = counts(verdict)
      ? `passed ${verdict === 'empty' ? 'empty' : 'with warnings'}`
      : verdict;
    print(`  ${label}: ${[scenario, ...reasons].join(' | ').replaceAll(/\s+/g, ' ')}`);
  }
  return passed;
}

/** @returns true when everything came out as demanded. */
async function runAll(options: Options, plans: readonly Plan[], dir: string): Promise<boolean> {
  const target = options.direct ? await startDirect(dir) : await startGateway(dir, options.sharing);
  const deadline = performance.now() + TOTAL_MS;
  let passed = 0;
  let knownToFail = 0;
  let total = 0;
  let asDemanded = true;
  // The two servers have nothing in common, so their runs go side by side.
  const runLane = async (fixture: Fixture) => {
    for (const plan of plans.filter(({ suite }) => suite.fixture === fixture)) {
      const outcomes = await runPlan(plan, target.urls[fixture], dir, deadline);
      const count = report(plan, outcomes);
      passed += count;
      total += outcomes.length;
      const failing = known(plan.suite, plan.scenarios);
      knownToFail += failing;
      asDemanded &&= count === plan.expected && count + failing === outcomes.length;
    }
  };
  try {
    await Promise.all([runLane('legacy'), runLane('modern')]);
  } finally {
    if (!(await target.stop())) {
      print(`the ${options.direct ? 'fixtures' : 'gateway'} did not stop cleanly`);
      asDemanded = false;
    }
  }
  if (knownToFail > 0) print(`known to fail: ${knownToFail}, see test/conformance/README.md`);
  print(`${passed} passed, ${Math.max(total - passed - knownToFail, 0)} failed`);
  return asDemanded;
}

async function main(): Promise<number> {
  const options = readOptions();
  const plans = await makePlans(options);
  const dir = await mkdtemp(join(tmpdir(), 'sluice-conformance-'));
  let ok = false;
  try {
    ok = await runAll(options, plans, dir);
  } finally {
    if (ok && !options.keep) await rm(dir, { recursive: true, force: true });
    else print(`results and log: ${dir}`);
  }
  return ok ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const code = error instanceof TypeError && 'code' in error ? String(error.code) : '';
  const usage = error instanceof UsageError || code.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (usage) process.stderr.write(USAGE);
  process.exitCode = usage ? 2 : 1;
}
