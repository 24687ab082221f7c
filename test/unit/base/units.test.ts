// Durations and sizes, both ways.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatByteSize, MAX_BYTE_SIZE, parseByteSize } from '../../../src/base/byte-size.ts';
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../../src/base/duration.ts';

describe('a duration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['0s', 0],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    '5',
    '5 s',
    '-5s',
    '1.5s',
    '5d',
    '5S',
    '1h30m',
    '600h',
    '99999999999h',
    '٣s',
    '5s\n',
  ])('%j is none', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('is read back as it was written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});

describe('a size', () => {
  it.each([
    ['512B', 512],
    ['64KiB', 65_536],
    ['4MiB', 4_194_304],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseByteSize(text)).toBe(bytes);
  });

  it.each(['', '4', '4MB', '4mib', '4 MiB', '1GiB', '-1B', '1.5KiB'])('%j is none', (text) => {
    expect(parseByteSize(text)).toBeUndefined();
  });

  it('is read back as it was written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_BYTE_SIZE }), (bytes) => {
        expect(parseByteSize(formatByteSize(bytes))).toBe(bytes);
      }),
    );
  });
});
