// Generated files are what the sources make today.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { generatedFiles } from '../../../scripts/generate.ts';

it.each(generatedFiles.map((file) => [file.path, file] as const))(
  '%s is up to date (npm run docs:generate)',
  (path, file) => {
    const shipped = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
    expect(shipped).toBe(file.content());
  },
);

it('the example shows every option', () => {
  const example = readFileSync(
    new URL('../../../config/sluice.example.yaml', import.meta.url),
    'utf8',
  );
  const reference = readFileSync(
    new URL('../../../docs/configuration.md', import.meta.url),
    'utf8',
  );
  const keys = [...reference.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1] ?? '');
  expect(keys.length).toBeGreaterThan(40);
  expect(keys.filter((key) => !new RegExp(`\\b${key}:`).test(example))).toEqual([]);
});
