// Two or three clients with equal ids, tokens and tool names on shared servers, in thousands of
// random interleavings with delays, cancels, late and repeated answers, deaths, departures: no answer,
// progress, log or server request reaches the wrong one (docs/reliability.md#b01, #b05, #b14).
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runs } from '../support/runs.ts';
import { type Setting, Simulation, type Step } from './interleavings/simulation.ts';

/** In each of the four settings. */
const RUNS = runs(10_000) / 4;

const nth = fc.nat(4_095);
const step = (weight: number, action: Step[0]) => ({
  weight,
  arbitrary: fc.tuple(fc.constant(action), nth),
});

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    step(20, 'call'),
    step(28, 'take'),
    step(40, 'deliver'),
    step(10, 'answer'),
    step(6, 'elicit'),
    step(4, 'sample'),
    step(8, 'log'),
    step(14, 'progress'),
    step(6, 'cancel'),
    step(10, 'reply'),
    step(2, 'replyToOthers'),
    step(3, 'babble'),
    step(2, 'takeBack'),
    step(1, 'ping'),
    step(1, 'stall'),
    step(1, 'resume'),
    step(1, 'die'),
    step(2, 'leave'),
    step(2, 'join'),
    step(2, 'wait'),
  ),
  { minLength: 30, maxLength: 90, size: 'max' },
);

const transport = fc.constantFrom('channel', 'http', 'mixed');
const sharing = fc.constantFrom('shared', 'shared', 'shared', 'principal');
const replicas = fc.constantFrom(1, 1, 2);

function settings(...principals: readonly (readonly string[])[]): fc.Arbitrary<Setting> {
  return fc.record({ principals: fc.constantFrom(...principals), transport, sharing, replicas });
}

const NOTHING = { answers: 0, progress: 0, serverRequests: 0, takenBack: 0, logs: 0 };

type Received = Simulation['everybody'][number]['received'];

async function run(setting: Setting, script: readonly Step[], sum: Received): Promise<void> {
  vi.clearAllTimers();
  const simulation = new Simulation(setting);
  await simulation.start();
  for (const one of script) await simulation.act(one);
  await simulation.finish();
  for (const { received } of simulation.everybody) {
    for (const kind of Object.keys(sum) as (keyof Received)[]) sum[kind] += received[kind];
  }
}

async function explore(setting: fc.Arbitrary<Setting>): Promise<void> {
  const sum = { ...NOTHING };
  await fc.assert(
    fc.asyncProperty(setting, steps, (chosen, script) => run(chosen, script, sum)),
    { numRuns: RUNS },
  );
  // Enough of each kind must have got through to be mixed up.
  expect(sum.answers, 'answers').toBeGreaterThan(RUNS * 3);
  expect(sum.progress, 'progress').toBeGreaterThan(RUNS / 5);
  expect(sum.serverRequests, 'questions').toBeGreaterThan(RUNS / 5);
  expect(sum.takenBack, 'taken back').toBeGreaterThan(RUNS / 50);
  expect(sum.logs, 'logs').toBeGreaterThan(RUNS / 5);
}

describe('interleavings', { timeout: 300_000 }, () => {
  beforeAll(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
  });

  afterAll(() => {
    vi.useRealTimers();
  });

  // What the properties found once, in as few steps as it takes.
  const plain = { transport: 'channel', sharing: 'shared', replicas: 1 } as const;
  const replay = (principals: readonly string[], script: readonly Step[]): Promise<void> =>
    run({ ...plain, principals }, script, { ...NOTHING });

  test('a log for somebody who left reaches no stranger', () =>
    replay(
      ['a', 'b'],
      [
        ['call', 0],
        ['take', 0],
        ['log', 0],
        ['leave', 0],
        ['deliver', 0],
      ],
    ));

  test('a server request outlives the other calls of the client that was asked', () =>
    replay(
      ['a', 'b'],
      [
        ['call', 0],
        ['call', 4],
        ['take', 0],
        ['take', 0],
        ['elicit', 0],
        ['deliver', 0],
        ['answer', 4],
        ['deliver', 0],
      ],
    ));

  test('a server request that crossed the cancel of its call reaches nobody else', () =>
    replay(
      ['a', 'a'],
      [
        ['call', 0],
        ['call', 1],
        ['take', 0],
        ['take', 0],
        ['elicit', 0],
        ['cancel', 0],
        ['deliver', 0],
      ],
    ));

  test('two strangers', () => explore(settings(['a', 'b'])));
  test('two sessions of one person', () => explore(settings(['a', 'a'])));
  test('two sessions of one person and a stranger', () => explore(settings(['a', 'a', 'b'])));
  test('three sessions', () => explore(settings(['a', 'b', 'c'], ['a', 'a', 'a'])));
});
