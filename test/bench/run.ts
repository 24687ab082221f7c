// `npm run bench`: compares Sluice with a bare pipe and with other gateways on the same echo server, one
// after the other, and prints what a call and a session cost. Numbers inform; they never fail a build.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LoadProcess } from './load-process.ts';
import { type CallSeries, type Clock, measureCalls } from './measure-calls.ts';
import { measureSessions, type SessionSeries } from './measure-sessions.ts';
import { callTable, sessionCost, sessionTable, summarize } from './report.ts';
import { RunningSubject } from './running-subject.ts';
import {
  type CallScenario,
  FULL_PACE,
  type Pace,
  QUICK_PACE,
  SCENARIOS,
  type Scenario,
  type SessionScenario,
} from './scenarios.ts';
import { prepare, SUBJECT_NAMES, type Subject, type SubjectName } from './subjects.ts';

const USAGE = `usage: npm run bench -- [options]
  --quick            fewer and shorter rounds, the main scenarios only (under 90 s)
  --only NAME        only scenarios whose name contains NAME: ${SCENARIOS.map((s) => s.name).join(', ')}
  --subjects A,B     only these: ${SUBJECT_NAMES.join(', ')}
  --json FILE        also writes everything that was measured`;

interface Settings {
  readonly scenarios: readonly Scenario[];
  readonly subjects: readonly SubjectName[];
  readonly pace: Pace;
  readonly jsonFile: string | undefined;
}

interface Outcome {
  readonly calls: Map<string, readonly CallSeries[]>;
  readonly sessions: Map<string, readonly SessionSeries[]>;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** @throws TypeError for options that do not exist */
function readSettings(args: string[]): Settings {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      subjects: { type: 'string', default: SUBJECT_NAMES.join(',') },
      json: { type: 'string' },
    },
  });
  const wanted = values.subjects.split(',');
  const unknown = wanted.find((name) => !SUBJECT_NAMES.some((known) => known === name));
  if (unknown !== undefined) throw new TypeError(`there is no subject ${unknown}`);
  const scenarios = SCENARIOS.filter(
    // A name that is asked for is measured even when --quick would leave it out.
    ({ name, fullOnly }) =>
      name.includes(values.only) && !(values.quick && fullOnly && values.only === ''),
  );
  if (scenarios.length === 0) throw new TypeError(`there is no scenario ${values.only}`);
  return {
    scenarios,
    subjects: SUBJECT_NAMES.filter((name) => wanted.includes(name)),
    pace: values.quick ? QUICK_PACE : FULL_PACE,
    jsonFile: values.json,
  };
}

function prepareSubjects(names: readonly SubjectName[]): Subject[] {
  return names.flatMap((name) => {
    const prepared = prepare(name);
    if (!('missing' in prepared)) return prepared;
    print(`without ${name}: ${prepared.missing}`);
    return [];
  });
}

/** Starts all subjects and has their code compiled; one that cannot serve is left out. */
async function startAll(
  subjects: readonly Subject[],
  scratch: string,
  load: LoadProcess,
  pace: Pace,
): Promise<RunningSubject[]> {
  const started: RunningSubject[] = [];
  for (const subject of subjects) {
    try {
      const running = await RunningSubject.start(subject, scratch);
      started.push(running);
      await load.open(running.target, 8);
      await load.run({
        target: running.target,
        shape: { payload: 'small', bytes: 0 },
        inFlight: 8,
        durationMs: pace.firstWarmUpMs,
        minCalls: pace.firstWarmUpCalls,
      });
      await load.close(running.target);
    } catch (error) {
      const failed = started.at(-1)?.subject === subject ? started.pop() : undefined;
      print(`without ${subject.name}: ${failed?.obituary() ?? String(error)}`);
      await failed?.stop();
    }
  }
  return started;
}

/** All call scenarios on subjects that stay up from the first to the last. */
async function measureAllCalls(
  scenarios: readonly CallScenario[],
  subjects: readonly Subject[],
  scratch: string,
  clock: Clock,
): Promise<Outcome['calls']> {
  const outcome: Outcome['calls'] = new Map();
  if (scenarios.length === 0) return outcome;
  const load = new LoadProcess();
  const running = await startAll(subjects, scratch, load, clock);
  for (const scenario of scenarios) {
    if (clock.isOver()) {
      print(`\n${scenario.name}: left out, out of time`);
      continue;
    }
    const series = await measureCalls(scenario, running, load, clock);
    outcome.set(scenario.name, series);
    print(`\n${scenario.name} (${scenario.inFlight} in flight)\n${callTable(series)}`);
  }
  await load.stop();
  await Promise.all(running.map((subject) => subject.stop()));
  return outcome;
}

/** All session scenarios, each on a subject of its own. */
async function measureAllSessions(
  scenarios: readonly SessionScenario[],
  subjects: readonly Subject[],
  scratch: string,
  clock: Clock,
): Promise<Outcome['sessions']> {
  const outcome: Outcome['sessions'] = new Map();
  for (const scenario of scenarios) {
    const series: SessionSeries[] = [];
    for (const subject of subjects) {
      if (clock.isOver()) print(`\n${scenario.name}: without ${subject.name}, out of time`);
      else series.push(await measureSessions(scenario, subject, scratch));
    }
    if (series.length === 0) continue;
    outcome.set(scenario.name, series);
    print(`\n${scenario.name}\n${sessionTable(series)}`);
  }
  return outcome;
}

function writeJson(file: string, { calls, sessions }: Outcome): void {
  const report = {
    node: process.version,
    cpus: cpus().map(({ model }) => model),
    calls: Object.fromEntries(
      [...calls].map(([name, all]) => [
        name,
        all.map((series) => ({ ...series, summary: summarize(series, all) })),
      ]),
    ),
    sessions: Object.fromEntries(
      [...sessions].map(([name, all]) => [
        name,
        all.map((series) => ({ ...series, cost: sessionCost(series) })),
      ]),
    ),
  };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2));
  const { pace } = settings;
  const cpu = cpus();
  print(`Node ${process.version}, ${cpu.length} x ${cpu[0]?.model.trim() ?? 'unknown CPU'}`);
  const subjects = prepareSubjects(settings.subjects);
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  // On the way out, whatever the way, running-subject.ts ends what is left.
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
  const limit = setTimeout(() => {
    print(`stopped: took more than ${pace.limitMs / 1000} s`);
    process.exit(1);
  }, pace.limitMs);
  const begin = performance.now();
  const until = (enoughMs: number) => () => performance.now() - begin > enoughMs;
  const ofCalls = settings.scenarios.filter((scenario) => scenario.kind === 'calls');
  const ofSessions = settings.scenarios.filter((scenario) => scenario.kind === 'sessions');
  const outcome = {
    calls: await measureAllCalls(ofCalls, subjects, scratch, {
      ...pace,
      isOver: until(pace.enoughCallsMs),
    }),
    sessions: await measureAllSessions(ofSessions, subjects, scratch, {
      ...pace,
      isOver: until(pace.enoughMs),
    }),
  };
  clearTimeout(limit);
  if (settings.jsonFile !== undefined) writeJson(settings.jsonFile, outcome);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n${USAGE}\n`);
  process.exitCode = 2;
}
