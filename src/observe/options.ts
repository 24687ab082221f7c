// Options of logs (docs/configuration.md#log).
import { filledText, flag, isMap, type Options, oneOf, section } from '../base/options.ts';

/** `log:` */
export const logSchema = section({
  level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).prefault('info').meta({
    description: 'Lowest level that is logged. The log is JSON lines on stderr.',
  }),
  messages: flag().prefault(false).meta({
    description:
      'Log each MCP message: direction, method, id and size. The content is logged only at level `trace`.',
  }),
});

export type LogOptions = Options<typeof logSchema>;

/** `audit:` */
export const auditSchema = section({
  to: filledText('stdout or the path of a file').optional().meta({
    description:
      '`stdout`, or the path of a file. Each line says who called what, when, and how it ended. Default: no audit log.',
  }),
  required: flag().prefault(false).meta({
    description:
      "Refuse calls and new sessions while the audit log can't be written. With `false` they go on, and lost lines are counted.",
  }),
}).refine((value) => !(value.required && value.to === undefined), {
  path: ['to'],
  when: isMap,
  error: 'is missing: must be stdout or the path of a file (required)',
});

/** Paths are absolute. */
export type AuditOptions = Options<typeof auditSchema>;
