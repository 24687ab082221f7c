// What a command loads when it starts: each package takes memory in every process of a user, whether or not
// it is used.
import { expect, test } from 'vitest';
import { sourceFiles, target } from './sources.ts';

const files = new Map(sourceFiles().map((file) => [file.path, file]));

/** The packages that are loaded with a file, over however many steps. */
function packagesOf(entry: string): Set<string> {
  const seen = new Set([entry]);
  const packages = new Set<string>();
  for (const path of seen) {
    const file = files.get(path);
    for (const { specifier, isTypeOnly, isStatic } of file?.imports ?? []) {
      if (file === undefined || isTypeOnly || !isStatic) continue;
      const to = target(file, specifier);
      if (to !== undefined) seen.add(to);
      else packages.add(specifier);
    }
  }
  return packages;
}

test.for([
  ['a gateway', 'app/run.ts', ['undici', 'jose', 'ajv']],
  ['connect', 'app/connect.ts', ['fastify', 'undici', 'prom-client', 'ws', 'yaml', 'minisearch']],
  ['any command', 'cli/commands.ts', ['fastify', 'undici', 'ws', 'yaml', 'prom-client', 'pino']],
] as const)('%s does not load what it may never use', ([, entry, unused]) => {
  const packages = packagesOf(entry);
  expect(packages.size).toBeGreaterThan(3);
  expect(unused.filter((name) => packages.has(name))).toEqual([]);
});

test('nothing imports all of node:http', () => {
  const strays = [...files.values()].filter(({ imports }) =>
    imports.some((one) => one.specifier === 'node:http' && !one.isTypeOnly && one.isStatic),
  );
  expect(strays.map(({ path }) => path)).toEqual([]);
});
