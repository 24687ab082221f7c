// One attack from its beginning to the moment when it is known what it did.
import { setTimeout as delay } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import type { AttackerJob, AttackerReply } from './attacker-process.ts';
import { Child } from './child.ts';
import { type Observation, rssMiB } from './probe.ts';
import type { Subject } from './subject.ts';
import type { Series, VictimJob, VictimReply } from './victim-process.ts';

const PREPARE_LIMIT_MS = 60_000;
const VICTIM_LIMIT_MS = 70_000;
const QUIET_MS = 4_000;
const WARM_UP_MS = 10_000;
/** Until the gateway has to answer again when the attack is over. */
const RECOVERY_LIMIT_MS = 20_000;
/** A process that writes as fast as it can is not quick to hear that it is over. */
const REPORT_LIMIT_MS = 15_000;
const RESTING_MS = 3_000;
const POLL_MS = 50;
/** More memory is not waited for: the machine has other work. */
const MOST_RSS_MIB = 2_048;

export type Victim = Child<VictimJob, VictimReply>;
type Attacker = Child<AttackerJob, AttackerReply>;

/** What one attack did. */
export interface Outcome extends Observation {
  readonly name: string;
  readonly quiet: Series;
  readonly during: Series;
  readonly rssBeforeMiB: number;
  readonly rssAfterMiB: number;
  /** Undefined when the gateway lives and answers. */
  readonly death: string | undefined;
  /** What the attack says that it did. */
  readonly did: string;
  /** What the gateway wrote last when it died. */
  readonly lastStderrLine: string | undefined;
}

/**
 * Runs one attack.
 * @throws Error when it can't be run
 */
export async function measure(
  attack: Attack,
  subject: Subject,
  victim: Victim,
  ms: number,
): Promise<Outcome> {
  const { probe, gateway } = subject;
  await askVictim(victim, { kind: 'open', ...subject.victimPath(attack.victimServer ?? 'steady') });
  const { name, processes = 1, harmless } = attack;
  const beside = await prepare(harmless === undefined ? 0 : 1, [name, 'harmless'], subject);
  const attackers = await prepare(processes, [name], subject);
  try {
    const quiet = await seriesOf(victim, async () => {
      for (const one of beside) one.tell({ kind: 'begin' });
      await delay(QUIET_MS);
      await Promise.all(beside.map((one) => one.kill()));
    });
    const rssBeforeMiB = rssMiB(gateway.pid);
    subject.begin();
    const did: string[] = [];
    let death: string | undefined;
    const during = await seriesOf(victim, async () => {
      for (const attacker of attackers) attacker.tell({ kind: 'begin' });
      await lastUntil(subject, ms);
      for (const attacker of attackers) attacker.tell({ kind: 'stop' });
      did.push(...(await Promise.all(attackers.map(reportOf))));
      await Promise.all(attackers.map((attacker) => attacker.kill()));
      // What an attack leaves behind is a part of it.
      death = await stateOf(subject);
    });
    await delay(death === undefined ? RESTING_MS : 0);
    return {
      name,
      quiet,
      during,
      ...probe.observed(),
      rssBeforeMiB,
      rssAfterMiB: rssMiB(gateway.pid),
      death,
      did: did.join('; '),
      lastStderrLine: death === undefined ? undefined : gateway.lastStderrLine(),
    };
  } finally {
    await Promise.all([...beside, ...attackers].map((attacker) => attacker.kill()));
  }
}

/** Has the gateway do what it does all day, for a while: only then it is as large as one that is in use. */
export async function warmUp(subject: Subject, victim: Victim): Promise<void> {
  await askVictim(victim, { kind: 'open', ...subject.victimPath('steady') });
  await seriesOf(victim, () => delay(WARM_UP_MS));
}

/** Starts processes that attack and waits until they could begin. */
async function prepare(
  count: number,
  args: readonly string[],
  subject: Subject,
): Promise<Attacker[]> {
  const attackers = Array.from(
    { length: count },
    (): Attacker => new Child('attacker-process.ts', args),
  );
  try {
    await Promise.all(
      attackers.map(async (attacker, worker) => {
        const facts = subject.facts(worker);
        const said = await attacker.ask({ kind: 'prepare', facts }, PREPARE_LIMIT_MS);
        if (said.kind === 'failed') throw new Error(said.error);
      }),
    );
    return attackers;
  } catch (error) {
    await Promise.all(attackers.map((attacker) => attacker.kill()));
    throw error;
  }
}

/** Waits, but not for a gateway that is dead or grows without end. */
async function lastUntil({ gateway }: Subject, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end && gateway.isRunning) {
    if (rssMiB(gateway.pid) > MOST_RSS_MIB) {
      gateway.signal('SIGKILL');
      await gateway.exit;
    }
    await delay(POLL_MS);
  }
}

async function reportOf(attacker: Attacker): Promise<string> {
  try {
    const said = await attacker.next(REPORT_LIMIT_MS);
    if (said.kind === 'done') return said.did;
    return said.kind === 'failed' ? `failed: ${said.error}` : '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function seriesOf(victim: Victim, act: () => Promise<unknown>): Promise<Series> {
  await askVictim(victim, { kind: 'start' });
  await act();
  const series = await askVictim(victim, { kind: 'end' });
  if (series === undefined) throw new Error('the victim gave no figures');
  return series;
}

async function askVictim(victim: Victim, job: VictimJob): Promise<Series | undefined> {
  const reply = await victim.ask(job, VICTIM_LIMIT_MS);
  if (!reply.ok) throw new Error(`the victim: ${reply.error}`);
  return reply.series;
}

/** Whether the gateway lives and answers: undefined, or what is wrong. */
async function stateOf(subject: Subject): Promise<string | undefined> {
  const end = performance.now() + RECOVERY_LIMIT_MS;
  while (performance.now() < end) {
    const death = await subject.obituary();
    if (death !== undefined) return death;
    if (await isHealthy(subject)) return undefined;
    await delay(POLL_MS);
  }
  return `does not answer ${RECOVERY_LIMIT_MS / 1000} s later`;
}

async function isHealthy({ gateway }: Subject): Promise<boolean> {
  try {
    const answer = await fetch(`${gateway.adminUrl}/healthz`, {
      signal: AbortSignal.timeout(RECOVERY_LIMIT_MS),
    });
    return answer.ok;
  } catch {
    return false;
  }
}
