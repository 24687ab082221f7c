// What README.md and docs/*.md print is right: configurations load, commands exist, JSON is JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../../src/cli/args.ts';
import { loadText } from '../../../src/config/load.ts';
import { blocksIn, readmeConfiguration } from '../../support/doc-blocks.ts';
import { ROOT } from '../../support/root.ts';

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** The commands of a block, without comments. */
function commandsOf(body: string): string[] {
  return body
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

describe('a configuration', () => {
  it.each(blocksIn('yaml'))('in $place loads as it is printed', ({ body }) => {
    // What has no servers of its own is about those of the README.
    const text = /^servers:/m.test(body) ? body : `${readmeConfiguration()}\n${body}`;
    expect(loadText('sluice.yaml', text, {}, join(ROOT, 'sluice.yaml')).warnings).toEqual([]);
  });
});

describe('JSON', () => {
  it.each(blocksIn('json'))('in $place is JSON', ({ body }) => {
    expect(() => JSON.parse(body)).not.toThrow();
  });
});

describe('a command', () => {
  const all = blocksIn('sh', 'bash').flatMap(({ place, body }) =>
    commandsOf(body).map((command) => ({ place, command })),
  );
  const ours = all.flatMap(({ place, command }) => {
    const words = /^(?:npx node src\/main\.ts|sluice) (.*)$/.exec(command)?.[1];
    return words === undefined ? [] : [{ place, command, words: words.split(/\s+/) }];
  });
  const scripts = all.filter(({ command }) => /^npm /.test(command));

  it('is in some blocks', () => {
    expect(ours.length).toBeGreaterThan(4);
    expect(scripts.length).toBeGreaterThan(4);
  });

  it.each(ours)('in $place is understood: $command', ({ words }) => {
    expect(parseCommandLine(words).kind).not.toBe('usage-error');
  });

  it.each(scripts)('in $place is a script of the package: $command', ({ command }) => {
    const [, run, name = ''] = command.split(' ');
    expect(Object.keys(manifest.scripts)).toContain(run === 'run' ? name : run);
  });
});
