// `npm run bench`: compares Sluice with a bare pipe and with other gateways on the same echo server, one
// after the other, and prints what a call and a session cost. Numbers inform; they never fail a build.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Group } from './groups.ts';
import { LoadProcess } from './load-process.ts';
import { type CallSeries, type Clock, measureCalls } from './measure-calls.ts';
import { type ColdList, coldListText, measureColdList } from './measure-cold-list.ts';
import { measureSessions, type SessionSeries } from './measure-sessions.ts';
import { callTable, sessionCost, sessionTable, summarize } from './report.ts';
import { RunningSubject } from './running-subject.ts';
import type { CallScenario, Pace, SessionScenario } from './scenarios.ts';
import { readSettings, USAGE } from './settings.ts';
import { buildSluice, prepare, type Subject, type SubjectName } from './subjects.ts';

interface Outcome {
  readonly calls: Map<string, readonly CallSeries[]>;
  readonly sessions: Map<string, readonly SessionSeries[]>;
  readonly coldList: ColdList | undefined;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
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
  { pace, warmUp }: { readonly pace: Pace; readonly warmUp: Group['warmUp'] },
): Promise<RunningSubject[]> {
  const started: RunningSubject[] = [];
  for (const subject of subjects) {
    try {
      const running = await RunningSubject.start(subject, scratch);
      started.push(running);
      await load.open(running.target, 8, warmUp);
      await load.run({
        target: running.target,
        shape: warmUp,
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
  { clock, group }: { readonly clock: Clock; readonly group: Group },
): Promise<Outcome['calls']> {
  const outcome: Outcome['calls'] = new Map();
  if (scenarios.length === 0) return outcome;
  const load = new LoadProcess();
  const running = await startAll(subjects, scratch, load, {
    pace: clock,
    warmUp: group.warmUp,
  });
  for (const scenario of scenarios) {
    if (clock.isOver()) {
      print(`\n${scenario.name}: left out, out of time`);
      continue;
    }
    const series = await measureCalls(scenario, running, load, clock);
    outcome.set(scenario.name, series);
    const table = callTable(series, group.yardsticks);
    print(`\n${scenario.name} (${scenario.inFlight} in flight)\n${table}`);
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

/** The check of a cold list, which needs nothing of the other subjects. */
async function measureCold(scratch: string): Promise<ColdList | undefined> {
  const failure = buildSluice();
  try {
    if (failure !== '') throw new Error(failure);
    const list = await measureColdList(scratch);
    print(`\ncold-list\n${coldListText(list)}`);
    return list;
  } catch (error) {
    print(`\ncold-list: left out, ${String(error)}`);
    return undefined;
  }
}

function writeJson(
  file: string,
  { calls, sessions, coldList }: Outcome,
  { yardsticks }: Group,
): void {
  const report = {
    node: process.version,
    cpus: cpus().map(({ model }) => model),
    calls: Object.fromEntries(
      [...calls].map(([name, all]) => [
        name,
        all.map((series) => ({ ...series, summary: summarize(series, all, yardsticks) })),
      ]),
    ),
    sessions: Object.fromEntries(
      [...sessions].map(([name, all]) => [
        name,
        all.map((series) => ({ ...series, cost: sessionCost(series) })),
      ]),
    ),
    coldList,
  };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2));
  if (settings === undefined) {
    print(USAGE);
    return;
  }
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
  const hasColdList = settings.scenarios.some((scenario) => scenario.kind === 'cold-list');
  const outcome = {
    calls: await measureAllCalls(ofCalls, subjects, scratch, {
      clock: { ...pace, isOver: until(pace.enoughCallsMs) },
      group: settings.group,
    }),
    sessions: await measureAllSessions(ofSessions, subjects, scratch, {
      ...pace,
      isOver: until(pace.enoughMs),
    }),
    coldList: hasColdList ? await measureCold(scratch) : undefined,
  };
  clearTimeout(limit);
  if (settings.jsonFile !== undefined) writeJson(settings.jsonFile, outcome, settings.group);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n${USAGE}\n`);
  process.exitCode = 2;
}
