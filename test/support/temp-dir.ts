/**
 * Temporary folders of one test process, removed when the process exits. Every path below carries the
 * same recognisable prefix, so a leftover process can be found by its command line.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a fresh folder; it lives until this process exits. */
export function tempDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
