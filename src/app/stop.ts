// Why a process stops: signals, the end of its parent, unhandled errors.
import { every } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';

const PARENT_POLL_MS = 500;
/** Signals that stop the process, with the exit status if a second one comes. */
const ENDING = { SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

/** The stop of a process. */
export interface Stop {
  readonly reason: Promise<string>;
  /** Makes it stop, unless it already does. */
  readonly stop: (reason: string) => void;
  isStopping: boolean;
  isBroken: boolean;
}

/** A stop that has not happened yet. */
export function createStop(): Stop {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { reason: promise, stop: resolve, isStopping: false, isBroken: false };
}

/** Resolves on the first signal, the end of the parent, or an uncaught error. */
export function untilStopped(exitWithParent: boolean): Stop {
  const stop = createStop();
  const resolve = stop.stop;
  for (const [signal, status] of Object.entries(ENDING)) {
    process.on(signal, () => {
      // With a second signal the user does not want to wait.
      if (stop.isStopping) process.exit(status);
      resolve(signal);
    });
  }
  // A broken log reader must not end the gateway (docs/reliability.md#f57).
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.on('uncaughtException', (error) => {
    stop.isBroken = true;
    process.stderr.write(`sluice: uncaught: ${error.stack ?? error.message}\n`);
    resolve('uncaught exception');
  });
  // Whatever waits for the rejected promise has a time limit, and all other state is intact.
  process.on('unhandledRejection', (error) => {
    const text = error instanceof Error ? error.stack : undefined;
    process.stderr.write(`sluice: unhandled: ${text ?? messageOf(error)}\n`);
  });
  if (exitWithParent) {
    const parent = process.ppid;
    every(PARENT_POLL_MS, () => {
      if (process.ppid !== parent) resolve('parent ended');
    });
  }
  return stop;
}
