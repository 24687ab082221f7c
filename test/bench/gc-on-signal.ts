// Preloaded into a gateway whose memory is measured, with --expose-gc: on SIGUSR2 it collects all garbage
// and writes how much is left. The file to write is the query of this module's URL, since an environment
// variable would reach the children too.
import { renameSync, writeFileSync } from 'node:fs';

const report = decodeURIComponent(new URL(import.meta.url).search.slice(1));

process.on('SIGUSR2', () => {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  const { heapUsed, external } = process.memoryUsage();
  // Renamed so that a reader never sees half of it.
  writeFileSync(`${report}.part`, String(heapUsed + external));
  renameSync(`${report}.part`, report);
});
