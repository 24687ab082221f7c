// What a user may say about logging (docs/configuration.md#log): the types after load, and the schema
// that makes them from the file.
import { flag, isMap, oneOf, section, text } from '../base/options.ts';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** Logging. */
export interface LogOptions {
  readonly level: LogLevel;
  /** Log each message's envelope; bodies only at trace. */
  readonly messages: boolean;
}

/** The audit log. */
export interface AuditOptions {
  /** Absolute path of a file, or `stdout`; undefined: none is kept. */
  readonly to: string | undefined;
  /** Whether calls are refused while it can't be written. */
  readonly required: boolean;
}

/** `log:` */
export const logSchema = section({
  level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).prefault('info').meta({
    description: 'The least severe level that is written. Logs are JSON lines on stderr.',
  }),
  messages: flag().prefault(false).meta({
    description: "Log each message's envelope. Bodies are logged only at level trace.",
  }),
}).transform((value): LogOptions => value);

/** `audit:` */
export const auditSchema = section({
  to: text('stdout or the path of a file')
    .refine((value) => value !== '', { error: 'must be stdout or the path of a file' })
    .optional()
    .meta({
      description:
        '`stdout`, or the path of a file that lines are added to: who called what, when, and how it ended. Absent: nothing is written.',
    }),
  required: flag().prefault(false).meta({
    description:
      'Refuse calls and sessions while it can not be written. Otherwise they go on, and what is lost is counted.',
  }),
})
  .refine((value) => !(value.required && value.to === undefined), {
    path: ['to'],
    when: isMap,
    error: 'is missing: must be stdout or the path of a file (required)',
  })
  .transform(({ to, required }): AuditOptions => ({ to, required }));
