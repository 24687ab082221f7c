// The severities of `logging/setLevel` and `notifications/message` (RFC 5424 names), least first.

const LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

export type LoggingLevel = (typeof LEVELS)[number];

/** The level of a session at a shared server before it has set one (docs/protocol.md#log-messages). */
export const DEFAULT_SHARED_LEVEL: LoggingLevel = 'info';

/** The severity of a level, from 0; undefined if it is not a level. */
export function severityOf(level: unknown): number | undefined {
  const severity = (LEVELS as readonly unknown[]).indexOf(level);
  return severity < 0 ? undefined : severity;
}

/** The level with a severity. */
export function levelOf(severity: number): LoggingLevel {
  return LEVELS[severity] ?? 'emergency';
}
