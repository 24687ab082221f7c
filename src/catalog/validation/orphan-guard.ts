// A thread of the validation process that ends the process when the gateway is gone, even while the
// main thread runs a check that has no end. The gateway ends such a check itself, if it still can.
import { parentPort } from 'node:worker_threads';
import { every } from '../../base/clock.ts';

const POLL_MS = 1_000;

const parent = process.ppid;
every(POLL_MS, () => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
});
// The timer alone would not keep the thread.
parentPort?.on('message', () => undefined);
