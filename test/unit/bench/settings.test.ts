// The command line of the benchmark.
import { describe, expect, test } from 'vitest';
import { GROUP_NAMES, GROUPS } from '../../bench/groups.ts';
import { readSettings, USAGE } from '../../bench/settings.ts';

const names = (args: string[]) => readSettings(args)?.scenarios.map(({ name }) => name);

describe('readSettings', () => {
  test('compares with other gateways by default', () => {
    const settings = readSettings([]);
    expect(settings?.group).toBe(GROUPS.main);
    expect(settings?.subjects).toEqual(['bare-pipe', 'sluice', 'mcp-proxy', 'supergateway']);
  });

  test('leaves long scenarios out with --quick unless they are asked for', () => {
    expect(names(['--quick'])).not.toContain('small-64');
    expect(names(['--quick', '--only', 'small-64'])).toEqual(['small-64']);
  });

  test('takes subjects of other groups of calls', () => {
    const settings = readSettings(['--subjects', 'sluice-modern,bare-pipe']);
    expect(settings?.subjects).toEqual(['bare-pipe', 'sluice-modern']);
  });

  test('refuses what does not exist', () => {
    expect(() => readSettings(['--group', 'nope'])).toThrow(TypeError);
    expect(() => readSettings(['--only', 'nope'])).toThrow(TypeError);
    expect(() => readSettings(['--subjects', 'nope'])).toThrow(TypeError);
    expect(() => readSettings(['--group', 'lists', '--subjects', 'sluice'])).toThrow(TypeError);
    expect(() => readSettings(['--nope'])).toThrow(TypeError);
  });

  test('prints its options when asked', () => {
    expect(readSettings(['--help'])).toBeUndefined();
    for (const name of GROUP_NAMES) expect(USAGE).toContain(name);
  });
});
