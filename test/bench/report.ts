// Turns series into the tables that are printed.
import type { Yardstick } from './groups.ts';
import type { RunResult } from './load.ts';
import type { CallSeries } from './measure-calls.ts';
import type { SessionSeries } from './measure-sessions.ts';
import { median, medianRatio } from './statistics.ts';

const MEBI = 1024 * 1024;

/** The medians of one series and its ratios to others; what --json keeps besides the rounds. */
export interface CallSummary {
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicrosPerCall: number;
  readonly rssBytes: number;
  readonly bytesPerCall: number;
  /** By the name of the other subject; NaN where there is none. */
  readonly callsPerSecondRatios: Readonly<Record<string, number>>;
  readonly cpuRatios: Readonly<Record<string, number>>;
}

/** Medians over rounds; NaN where there are none. */
export function summarize(
  series: CallSeries,
  all: readonly CallSeries[],
  yardsticks: readonly Yardstick[],
): CallSummary {
  const of = (field: keyof RunResult, from = series) => from.rounds.map((round) => round[field]);
  const ratios = (field: keyof RunResult) =>
    Object.fromEntries(
      yardsticks.map(({ subject: name }) => {
        const other = all.find(({ subject }) => subject === name);
        const ratio = other === undefined ? Number.NaN : medianRatio(of(field), of(field, other));
        return [name, ratio] as const;
      }),
    );
  return {
    callsPerSecond: median(of('callsPerSecond')),
    p50Ms: median(of('p50Ms')),
    p99Ms: median(of('p99Ms')),
    cpuMicrosPerCall: median(of('cpuMicrosPerCall')),
    rssBytes: median(of('rssBytes')),
    bytesPerCall: median(of('bytesPerCall')),
    callsPerSecondRatios: ratios('callsPerSecond'),
    cpuRatios: ratios('cpuMicrosPerCall'),
  };
}

/** One scenario of calls as a table, each subject divided by each yardstick. */
export function callTable(all: readonly CallSeries[], yardsticks: readonly Yardstick[]): string {
  const ratioNames = yardsticks.map(({ label }) => `x ${label}`);
  const speed = ['calls/s', ...ratioNames, 'p50 ms', 'p99 ms'];
  const cost = ['CPU us/call', ...ratioNames, 'KiB/call', 'RSS MiB', 'processes'];
  const header = ['', ...speed, ...cost];
  const rows = all.map((series) => {
    if (series.rounds.length === 0) return [series.title, series.failure ?? 'no rounds'];
    const summary = summarize(series, all, yardsticks);
    const ratios = (values: CallSummary['cpuRatios']) =>
      yardsticks.map(({ subject }) => figure(values[subject] ?? Number.NaN, 2));
    return [
      series.title,
      figure(summary.callsPerSecond),
      ...ratios(summary.callsPerSecondRatios),
      figure(summary.p50Ms, 2),
      figure(summary.p99Ms, 2),
      figure(summary.cpuMicrosPerCall),
      ...ratios(summary.cpuRatios),
      figure(summary.bytesPerCall / 1024, 1),
      figure(summary.rssBytes / MEBI),
      String(series.processes),
      ...(series.failure === undefined ? [] : [series.failure]),
    ];
  });
  return alignColumns([header, ...rows]);
}

/** Memory and processes that one session adds. */
export function sessionCost(series: SessionSeries): { rssKiB: number; heapKiB: number } {
  const { before, after, sessions } = series;
  if (before === undefined || after === undefined)
    return { rssKiB: Number.NaN, heapKiB: Number.NaN };
  return {
    rssKiB: (after.rssBytes - before.rssBytes) / 1024 / sessions,
    heapKiB: (after.heapBytes - before.heapBytes) / 1024 / sessions,
  };
}

/** One scenario of resting sessions as a table. */
export function sessionTable(all: readonly SessionSeries[]): string {
  const header = [
    '',
    'sessions',
    'seconds',
    'RSS before',
    'after MiB',
    'RSS KiB each',
    'heap KiB each',
    'processes before',
    'after',
    'children MiB',
    'left at the end',
  ];
  const rows = all.map((series) => {
    if (series.before === undefined) return [series.title, `n/a: ${series.failure}`];
    const cost = sessionCost(series);
    return [
      series.title,
      String(series.sessions),
      figure(series.seconds, 1),
      figure(series.before.rssBytes / MEBI, 1),
      figure((series.after?.rssBytes ?? Number.NaN) / MEBI, 1),
      figure(cost.rssKiB, 1),
      figure(cost.heapKiB, 1),
      String(series.processesBefore),
      String(series.processesAfter),
      figure(series.childrenRssBytes / MEBI),
      String(series.leftBehind),
      ...(series.failure === undefined ? [] : [series.failure]),
    ];
  });
  return alignColumns([header, ...rows]);
}

function figure(value: number, digits = 0): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '-';
}

/** The first column to the left, the others to the right; a remark after the last stays as it is. */
function alignColumns(rows: readonly string[][]): string {
  const columns = rows[0]?.length ?? 0;
  const isFull = (row: string[]) => row.length >= columns;
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(
      ...rows.filter((row) => column === 0 || isFull(row)).map((row) => row[column]?.length ?? 0),
    ),
  );
  const pad = (cell: string, column: number, isRemark: boolean) => {
    if (isRemark || column >= columns) return cell;
    const width = widths[column] ?? 0;
    return column === 0 ? cell.padEnd(width) : cell.padStart(width);
  };
  return rows
    .map((row) => {
      const cells = row.map((cell, column) => pad(cell, column, !isFull(row) && column > 0));
      return `  ${cells.join('  ')}`.trimEnd();
    })
    .join('\n');
}
