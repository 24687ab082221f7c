// The program's one logger: JSON lines on stderr, so that stdout stays clean for `check` and
// `connect`. Everybody else gets a child with bindings and writes constant sentences with fields.
import { type Logger as PinoLogger, pino } from 'pino';
import type { LogOptions } from './options.ts';

export type Logger = PinoLogger;

/** Makes the root logger. Writes synchronously, so that nothing is lost at exit. */
export function createLogger(options: LogOptions): Logger {
  return pino(
    {
      level: options.level,
      base: { name: 'sluice' },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
