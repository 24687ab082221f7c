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
    description: 'Lowest level that is logged. The log is JSON lines on stderr.',
  }),
  messages: flag().prefault(false).meta({
    description:
      'Log each MCP message: direction, method, id and size. The content is logged only at level `trace`.',
  }),
}).transform((value): LogOptions => value);

/** `audit:` */
export const auditSchema = section({
  to: text('stdout or the path of a file')
    .refine((value) => value !== '', { error: 'must be stdout or the path of a file' })
    .optional()
    .meta({
      description:
        '`stdout`, or the path of a file. Each line says who called what, when, and how it ended. Default: no audit log.',
    }),
  required: flag().prefault(false).meta({
    description:
      "Refuse calls and new sessions while the audit log can't be written. With `false` they go on, and lost lines are counted.",
  }),
})
  .refine((value) => !(value.required && value.to === undefined), {
    path: ['to'],
    when: isMap,
    error: 'is missing: must be stdout or the path of a file (required)',
  })
  .transform(({ to, required }): AuditOptions => ({ to, required }));
