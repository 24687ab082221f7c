// `npm run attack`: starts a gateway as a user does, attacks it in every way that is known, one after the
// other, and prints how long it was blocked, how much memory it took and what another client felt.
// The exit status is 1 when a limit is broken.
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { ATTACKS } from './attacks.ts';
import { Child } from './child.ts';
import { measure, type Outcome, type Victim } from './measure.ts';
import { rssMiB } from './probe.ts';
import { brokenLimits, type NotRun, tableHead, tableRow, verdict } from './report.ts';
import { readSettings, type Settings, USAGE } from './settings.ts';
import { Subject } from './subject.ts';

const REST_MS = 60_000;

interface Results {
  readonly outcomes: Outcome[];
  readonly notRun: NotRun[];
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function runOne(
  attack: Attack,
  subject: Subject,
  victim: Victim,
  { ms, results }: { readonly ms: number; readonly results: Results },
): Promise<void> {
  try {
    const outcome = await measure(attack, subject, victim, ms);
    results.outcomes.push(outcome);
    print(tableRow(outcome));
    const why = subject.why();
    if (why !== undefined) print(why);
    if (outcome.lastWords !== undefined) print(outcome.lastWords);
  } catch (error) {
    results.notRun.push({ name: attack.name, error: String(error) });
    print(`${attack.name}: ${String(error)}\n${subject.gateway.lastWords()}`);
  }
}

/** Each against a gateway of its own. */
async function runEach(
  { attacks, ms, checkout, asksWhy }: Settings,
  results: Results,
): Promise<void> {
  for (const attack of attacks) {
    const victim: Victim = new Child('victim-process.ts');
    const subject = await Subject.start({ ...attack, checkout, asksWhy });
    try {
      await runOne(attack, subject, victim, { ms, results });
    } finally {
      await victim.kill();
      await subject.close();
    }
  }
}

/** All against one gateway: those that need no configuration of their own. */
async function runSame(
  { attacks, ms, checkout, asksWhy }: Settings,
  results: Results,
): Promise<void> {
  const fit = attacks.filter(
    ({ servers, config, openFiles, remote }) =>
      (servers ?? config ?? openFiles ?? remote) === undefined,
  );
  const victim: Victim = new Child('victim-process.ts');
  const subject = await Subject.start({ checkout, asksWhy });
  try {
    const before = rssMiB(subject.gateway.pid);
    for (const attack of fit) {
      if (subject.gateway.isRunning) await runOne(attack, subject, victim, { ms, results });
    }
    await delay(REST_MS);
    const after = rssMiB(subject.gateway.pid);
    print(`memory before ${before.toFixed(0)} MiB, a minute after ${after.toFixed(0)} MiB`);
  } finally {
    await victim.kill();
    await subject.close();
  }
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2));
  if (settings.kind === 'help') print(USAGE);
  else if (settings.kind === 'list') {
    for (const { name, about } of ATTACKS) print(`${name.padEnd(28)} ${about}`);
  } else {
    const results: Results = { outcomes: [], notRun: [] };
    print(tableHead());
    await (settings.isSame ? runSame(settings, results) : runEach(settings, results));
    print(`\n${verdict(results.outcomes, results.notRun)}`);
    const isBroken = results.outcomes.some((outcome) => brokenLimits(outcome).length > 0);
    process.exitCode = isBroken || results.notRun.length > 0 ? 1 : 0;
    if (settings.jsonFile !== undefined) {
      writeFileSync(settings.jsonFile, `${JSON.stringify(results, null, 2)}\n`);
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
try {
  await main();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n${USAGE}\n`);
  process.exitCode = 2;
}
