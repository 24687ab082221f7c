/**
 * The folder of a whole test run, removed at its end: the processes that tests run in are ended from
 * outside and clean nothing up themselves. vitest runs this once (`globalSetup`).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const NAME = 'SLUICE_TEST_ROOT';

/** Makes the folder and names it to the workers. */
export function setup(): void {
  process.env[NAME] = mkdtempSync(join(tmpdir(), 'sluice-test-'));
}

/** Removes it. */
export function teardown(): void {
  const root = process.env[NAME];
  if (root !== undefined) rmSync(root, { recursive: true, force: true });
}
