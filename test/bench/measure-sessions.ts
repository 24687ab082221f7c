// Measures what sessions that rest cost: memory and processes of one freshly started subject before and
// after they are opened.
import { LoadProcess } from './load-process.ts';
import { type Memory, RunningSubject } from './running-subject.ts';
import type { SessionScenario } from './scenarios.ts';
import type { Subject } from './subjects.ts';
import { SMALL } from './work.ts';

/** What the sessions of one subject cost. */
export interface SessionSeries {
  readonly subject: string;
  readonly title: string;
  /** How many were opened. */
  readonly sessions: number;
  readonly seconds: number;
  readonly before: Memory | undefined;
  readonly after: Memory | undefined;
  readonly processesBefore: number;
  readonly processesAfter: number;
  /** Of all its children together, with the sessions open. */
  readonly childrenRssBytes: number;
  /** Processes that outlived the subject. */
  readonly leftBehind: number;
  /** Why there are fewer sessions than asked for. */
  readonly failure: string | undefined;
}

const FIRST_SESSIONS = 20;
const WARM_SESSIONS = 400;
const STEP = 100;
/** A process a session: a machine does not hold a thousand of them. */
const MAX_PROCESSES = 32;
const MAX_SECONDS = 20;

/** Opens the sessions on one subject, as many as it can within bounds. */
export async function measureSessions(
  scenario: SessionScenario,
  subject: Subject,
  scratch: string,
): Promise<SessionSeries> {
  if (!subject.hasSessions) return empty(subject, 'has no sessions');
  let started: RunningSubject | undefined;
  try {
    started = await RunningSubject.start(subject, scratch);
    const series = await fill(scenario, started);
    return { ...series, leftBehind: await started.stop() };
  } catch (error) {
    await started?.stop();
    return empty(subject, error instanceof Error ? error.message : String(error));
  }
}

async function fill(scenario: SessionScenario, started: RunningSubject): Promise<SessionSeries> {
  await warmUp(started);
  const load = new LoadProcess();
  try {
    const before = await started.restingMemory();
    const processesBefore = started.countProcesses();
    const begin = performance.now();
    const seconds = () => (performance.now() - begin) / 1000;
    let sessions = 0;
    let failure: string | undefined;
    while (sessions < scenario.sessions && failure === undefined) {
      const isSharing = sessions > 0 && started.countProcesses() < processesBefore + sessions;
      const next = Math.min(scenario.sessions, sessions + (isSharing ? STEP : FIRST_SESSIONS));
      await load.openResting(started.target, next, scenario.streams);
      sessions = next;
      if (started.countProcesses() > MAX_PROCESSES) failure = 'stopped: a process a session';
      else if (seconds() > MAX_SECONDS && sessions < scenario.sessions)
        failure = 'stopped: too slow';
    }
    return {
      subject: started.subject.name,
      title: started.subject.title,
      sessions,
      seconds: seconds(),
      before,
      after: await started.restingMemory(),
      processesBefore,
      processesAfter: started.countProcesses(),
      childrenRssBytes: started.childrenRssBytes(),
      leftBehind: 0,
      failure,
    };
  } finally {
    await load.stop();
  }
}

/** Has the code compiled and the pools made, so that they are not counted as sessions. */
async function warmUp(started: RunningSubject): Promise<void> {
  const load = new LoadProcess();
  try {
    const alone = started.countProcesses();
    await load.open(started.target, FIRST_SESSIONS, SMALL);
    const isSharing = started.countProcesses() < alone + FIRST_SESSIONS;
    if (isSharing) await load.open(started.target, WARM_SESSIONS, SMALL);
    await load.close(started.target);
  } finally {
    await load.stop();
  }
}

function empty(subject: Subject, failure: string): SessionSeries {
  return {
    subject: subject.name,
    title: subject.title,
    sessions: 0,
    seconds: 0,
    before: undefined,
    after: undefined,
    processesBefore: 0,
    processesAfter: 0,
    childrenRssBytes: 0,
    leftBehind: 0,
    failure,
  };
}
