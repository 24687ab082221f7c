// What a user may say about logging (design.md 3.2 `log:`).

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** Logging. */
export interface LogOptions {
  readonly level: LogLevel;
  /** Log each message's envelope; bodies only at trace. */
  readonly messages: boolean;
}
