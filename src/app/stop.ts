// How a process comes to stop: signals, the end of its parent, errors that nobody handled.
import { every } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';

const PARENT_POLL_MS = 500;
/** Signals that end the process, by the status that a second one of them ends it with at once. */
const ENDING = { SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

/** How a process comes to stop. */
export interface Stop {
  readonly reason: Promise<string>;
  /** Makes it stop, unless it does already. */
  readonly stop: (reason: string) => void;
  isStopping: boolean;
  isBroken: boolean;
}

/** One that nothing has happened to. */
export function createStop(): Stop {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { reason: promise, stop: resolve, isStopping: false, isBroken: false };
}

/** Resolves on the first signal, the end of the parent, or an error nobody handled. */
export function untilStopped(exitWithParent: boolean): Stop {
  const stop = createStop();
  const resolve = stop.stop;
  for (const [signal, status] of Object.entries(ENDING)) {
    process.on(signal, () => {
      // The second signal is somebody who does not want to wait.
      if (stop.isStopping) process.exit(status);
      resolve(signal);
    });
  }
  // A broken log reader must not take the gateway down (docs/reliability.md#f57).
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.on('uncaughtException', (error) => {
    stop.isBroken = true;
    process.stderr.write(`sluice: uncaught: ${error.stack ?? error.message}\n`);
    resolve('uncaught exception');
  });
  // Whatever waits for it has a limit, and everything else is as it was.
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
