// Measures one call scenario on all subjects: round after round, in each round every subject in turn, so
// that a slow minute of the machine meets them all.
import type { RunResult } from './load.ts';
import type { LoadProcess } from './load-process.ts';
import type { RunningSubject } from './running-subject.ts';
import type { CallScenario, Pace } from './scenarios.ts';

/** What one subject did in one scenario. */
export interface CallSeries {
  readonly subject: string;
  readonly title: string;
  /** One a round; shorter when a call failed or the time was over. */
  readonly rounds: readonly RunResult[];
  readonly processes: number;
  /** Why it was not measured to the end. */
  readonly failure: string | undefined;
}

/** The pace and whether the time for measuring is over. */
export type Clock = Pace & { isOver(): boolean };

interface Lane {
  readonly subject: RunningSubject;
  /** Spent on its rounds. */
  spentMs: number;
  readonly rounds: RunResult[];
  processes: number;
  failure: string | undefined;
}

/**
 * @param pace its `isOver` is asked before each measurement
 * @returns one series a subject, in the same order
 */
export async function measureCalls(
  scenario: CallScenario,
  subjects: readonly RunningSubject[],
  load: LoadProcess,
  pace: Clock,
): Promise<CallSeries[]> {
  const lanes = subjects.map((subject): Lane => {
    return { subject, spentMs: 0, rounds: [], processes: 0, failure: undefined };
  });
  for (const lane of lanes) {
    await attempt(lane, pace, async () => {
      await load.open(lane.subject.target, scenario.inFlight, scenario.shape);
      await run(lane, scenario, load, { durationMs: pace.warmUpMs, minCalls: 1 });
      lane.processes = lane.subject.countProcesses();
    });
  }
  for (let round = 0; round < pace.rounds; round += 1) {
    for (const lane of rotate(lanes, round)) {
      // One that takes seconds for a call has fewer rounds.
      if (lane.spentMs > 3 * pace.rounds * pace.durationMs) continue;
      const begin = performance.now();
      await attempt(lane, pace, async () => {
        lane.rounds.push(await run(lane, scenario, load, pace));
      });
      lane.spentMs += performance.now() - begin;
    }
  }
  for (const lane of lanes) await load.close(lane.subject.target);
  return lanes.map(({ subject: { subject }, rounds, processes, failure }) => {
    return { subject: subject.name, title: subject.title, rounds, processes, failure };
  });
}

async function run(
  lane: Lane,
  { shape, inFlight }: CallScenario,
  load: LoadProcess,
  { durationMs, minCalls }: Pick<Pace, 'durationMs' | 'minCalls'>,
): Promise<RunResult> {
  return await load.run({ target: lane.subject.target, shape, inFlight, durationMs, minCalls });
}

/** A subject that fails is out of this scenario; the others go on. */
async function attempt(lane: Lane, pace: Clock, action: () => Promise<void>): Promise<void> {
  if (lane.failure !== undefined) return;
  if (pace.isOver()) {
    lane.failure = 'out of time';
    return;
  }
  try {
    await action();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    lane.failure = lane.subject.obituary() ?? message;
  }
}

/** Nobody is always first. */
function rotate<T>(items: readonly T[], by: number): T[] {
  const start = by % Math.max(1, items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}
