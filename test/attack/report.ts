// What was measured as a table, and which limits it breaks.
import type { Outcome } from './measure.ts';

/** Nothing that anybody sends may do more than this. */
export const LIMITS = {
  /** CPU time of one turn of the event loop. */
  blockMs: 100,
  rssMiB: 512,
  /** Another principal's p99 under attack, divided by the quiet one. */
  ratio: 10,
} as const;

/** Of the time that the gateway waited for a processor, from which on it is said. */
const BUSY_SHARE = 0.1;

/** An attack that could not be run. */
export interface NotRun {
  readonly name: string;
  readonly error: string;
}

const HEADER = [
  'attack',
  'block ms',
  'wall ms',
  '>100',
  'peak MiB',
  'after',
  'p50 ms',
  'p99 ms',
  'under attack',
  'p99 ms',
  'ratio',
  'failed',
  'broken',
];
const WIDTHS = [28, 9, 9, 6, 9, 7, 8, 8, 13, 9, 8, 7];

/** The p99 of the victim under attack, divided by the quiet one. */
export function ratioOf({ quiet, during }: Outcome): number {
  return during.p99Ms / quiet.steadyP99Ms;
}

/** The limits that an attack breaks, in words. */
export function brokenLimits(outcome: Outcome): string[] {
  const broken: string[] = [];
  if (outcome.death !== undefined) broken.push(outcome.death);
  if ((outcome.longest?.cpuMs ?? 0) >= LIMITS.blockMs) broken.push('block');
  if (outcome.peakRssMiB > LIMITS.rssMiB) broken.push('memory');
  if (!(ratioOf(outcome) < LIMITS.ratio)) broken.push('p99');
  return broken;
}

/**
 * Whether only the victim's p99 says that a limit is broken, and not by far: on a busy machine that may be
 * something else, and then it is not so each time.
 */
export function isInDoubt(outcome: Outcome): boolean {
  return brokenLimits(outcome).join() === 'p99' && ratioOf(outcome) < 2 * LIMITS.ratio;
}

/** The first lines of the table. */
export function tableHead(): string {
  return `${''.padEnd(68)}  victim quiet\n${row(HEADER)}`;
}

/** One attack as a line, and what it says that it did as another one. */
export function tableRow(outcome: Outcome): string {
  const { longest, quiet, during } = outcome;
  const broken = brokenLimits(outcome);
  const cells = [
    outcome.name,
    figure(longest?.cpuMs ?? 0, 0),
    figure(longest?.wallMs ?? 0, 0),
    String(outcome.overLimit),
    figure(outcome.peakRssMiB, 0),
    figure(outcome.rssAfterMiB, 0),
    figure(quiet.p50Ms, 2),
    figure(quiet.steadyP99Ms, 2),
    figure(during.p50Ms, 2),
    figure(during.p99Ms, 2),
    figure(ratioOf(outcome), 1),
    String(during.failed),
    broken.length === 0 ? '-' : broken.join(', '),
  ];
  const { waitedShare } = outcome;
  const busy = waitedShare < BUSY_SHARE ? '' : ` (busy machine: ${percent(waitedShare)} waited)`;
  return `${row(cells)}\n    ${outcome.did}${busy}`;
}

/** The line at the end. */
export function verdict(outcomes: readonly Outcome[], notRun: readonly NotRun[]): string {
  const broken = outcomes.filter((outcome) => brokenLimits(outcome).length > 0);
  const lines = notRun.map(
    ({ name, error }) => `${name} could not be run: ${error.split('\n')[0]}`,
  );
  const held = outcomes.length - broken.length;
  const names = broken.map(({ name }) => name).join(', ');
  const end = broken.length === 0 ? '' : `; broken by ${broken.length}: ${names}`;
  return [...lines, `limits held against ${held} of ${outcomes.length} attacks${end}`].join('\n');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function row(cells: readonly string[]): string {
  const [name = '', ...others] = cells;
  const padded = others.map((cell, n) => cell.padStart(WIDTHS[n + 1] ?? 0));
  return [name.padEnd(WIDTHS[0] ?? 0), ...padded.slice(0, -1), ` ${others.at(-1)}`].join(' ');
}

function figure(value: number, digits: number): string {
  if (value === Number.POSITIVE_INFINITY) return 'endless';
  return Number.isFinite(value) ? value.toFixed(digits) : '-';
}
