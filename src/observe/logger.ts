// The program's one logger: JSON lines on stderr, so that stdout stays clean for `check` and
// `connect`. Everybody else gets a child with bindings and writes constant sentences with fields.
import { type Logger as PinoLogger, pino } from 'pino';
import type { LogOptions } from './options.ts';

export type Logger = PinoLogger;

/** Nobody logs these on purpose; an error of a library may carry the request that it is about. */
const SECRET_FIELDS = ['authorization', 'cookie', '["x-api-key"]', '["mcp-session-id"]'].flatMap(
  (name) => {
    const member = name.startsWith('[') ? name : `.${name}`;
    return [`*${member}`, `*.headers${member}`, `headers${member}`];
  },
);

/** Makes the root logger. Writes synchronously, so that nothing is lost at exit. */
export function createLogger(options: LogOptions): Logger {
  return pino(
    {
      level: options.level,
      base: { name: 'sluice' },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_FIELDS, censor: '***' },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
