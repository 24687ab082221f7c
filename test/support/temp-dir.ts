/**
 * Temporary folders of one test process, removed when the process exits. All lie under one folder with a
 * recognisable name, so a leftover process can be found by its command line.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The root of the run where vitest made one: see temp-root.ts.
const root = mkdtempSync(join(process.env['SLUICE_TEST_ROOT'] ?? tmpdir(), 'sluice-test-'));
process.once('exit', () => rmSync(root, { recursive: true, force: true }));
let count = 0;

/** Makes a fresh folder; it lives until this process exits. */
export function tempDir(): string {
  const folder = join(root, String(++count));
  mkdirSync(folder);
  return folder;
}
