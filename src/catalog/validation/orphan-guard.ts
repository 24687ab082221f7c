// A thread of the validation process that ends the process when the gateway is gone, even while the main
// thread runs an endless check. While the gateway runs, it ends such a check itself.
import { parentPort } from 'node:worker_threads';
import { every } from '../../base/clock.ts';

const POLL_MS = 1_000;

const parent = process.ppid;
every(POLL_MS, () => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
});
// The timer alone would not keep the thread running.
parentPort?.on('message', () => undefined);
