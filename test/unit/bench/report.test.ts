// The ratios of the benchmark's tables.
import { describe, expect, test } from 'vitest';
import type { CallSeries } from '../../bench/measure-calls.ts';
import { callTable, summarize } from '../../bench/report.ts';

const series = (subject: string, cpu: readonly number[]): CallSeries => ({
  subject,
  title: subject,
  processes: 2,
  failure: undefined,
  rounds: cpu.map((cpuMicrosPerCall) => ({
    calls: 1,
    callsPerSecond: 100,
    p50Ms: 1,
    p99Ms: 2,
    cpuMicrosPerCall,
    rssBytes: 1024,
    bytesPerCall: 2048,
  })),
});

const ALL = [series('bare-pipe', [10, 20]), series('sluice', [15, 30]), series('other', [30, 60])];
const PIPE = { subject: 'bare-pipe', label: 'pipe' } as const;
const DIRECT = { subject: 'sluice', label: '1:1' } as const;

describe('summarize', () => {
  test('divides by each yardstick', () => {
    const other = ALL[2] ?? series('other', []);
    const { cpuRatios, callsPerSecondRatios } = summarize(other, ALL, [PIPE, DIRECT]);
    expect(cpuRatios).toEqual({ 'bare-pipe': 3, sluice: 2 });
    expect(callsPerSecondRatios).toEqual({ 'bare-pipe': 1, sluice: 1 });
  });

  test('has no ratio to a subject that does not take part', () => {
    const [pipe = series('bare-pipe', [])] = ALL;
    expect(summarize(pipe, [pipe], [DIRECT]).cpuRatios['sluice']).toBeNaN();
  });
});

test('a table has a column for each ratio', () => {
  const [header = '', ...rows] = callTable(ALL, [PIPE, DIRECT]).split('\n');
  expect(header.match(/x pipe/g)).toHaveLength(2);
  expect(header.match(/x 1:1/g)).toHaveLength(2);
  expect(rows).toHaveLength(3);
  expect(rows[2]).toMatch(/ 3\.00 +2\.00 +2\.0 /);
});
