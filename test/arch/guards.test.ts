/** The mutations of `npm run test:guards` name lines of the sources: each has to be there, once. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Edit, Guard } from '../../scripts/guards/guard.ts';
import { ROOT } from '../support/root.ts';

const TEXTS = new Map<string, string>();

function textOf(file: string): string {
  const text = TEXTS.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  TEXTS.set(file, text);
  return text;
}

async function allGuards(): Promise<Guard[]> {
  const files = globSync('scripts/guards/*.ts', { cwd: ROOT });
  const modules = await Promise.all(
    files.map((file) => import(join(ROOT, file)) as Promise<Record<string, readonly Guard[]>>),
  );
  return modules.flatMap((module) => Object.values(module).flat());
}

it('each guard is found in its file once', async () => {
  const guards = await allGuards();
  const times = ({ file, find }: Edit): number => textOf(file).split(find).length - 1;
  const stray = guards.flatMap((guard) =>
    [guard, ...(guard.also ?? [])]
      .filter((edit) => times(edit) !== 1)
      .map((edit) => `${guard.name}: found ${times(edit)} times in ${edit.file}`),
  );
  expect(guards.length).toBeGreaterThan(200);
  expect(stray).toEqual([]);
});
