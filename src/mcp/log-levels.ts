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

/** What a session gets on a shared server before it has set a level (docs/protocol.md#log-messages). */
export const DEFAULT_SHARED_LEVEL: LoggingLevel = 'info';

/** How severe a level is, from 0; undefined when it is none. */
export function severityOf(level: unknown): number | undefined {
  const severity = (LEVELS as readonly unknown[]).indexOf(level);
  return severity < 0 ? undefined : severity;
}

/** The level of a severity. */
export function levelOf(severity: number): LoggingLevel {
  return LEVELS[severity] ?? 'emergency';
}
