// Reloads of the configuration: one at a time, each whole or not at all (docs/operations.md#reload).

import { messageOf, UserFileError } from '../base/errors.ts';
import { isSameValue } from '../base/same-value.ts';
import type { Config } from '../config/config.ts';
import { exposureFaults } from '../config/exposure.ts';
import { ConfigError, formatIssue } from '../config/issues.ts';
import type { Logger } from '../observe/logger.ts';

/** What a reload came to. */
export type ReloadOutcome =
  | {
      readonly outcome: 'ok';
      /** Options that are others in the file than in this process, until it is started again. */
      readonly needsRestart: readonly string[];
    }
  | { readonly outcome: 'refused'; readonly errors: readonly string[] };

/** A configuration that was read again. */
export interface RereadConfig {
  readonly config: Config;
  /** Texts that must not be logged. */
  readonly secrets: ReadonlySet<string>;
  /** To be logged, one sentence each. */
  readonly warnings: readonly string[];
}

export interface ReloadParts {
  /** What the gateway was started with. */
  readonly started: Config;
  readonly logger: Logger;
  /** @throws ConfigError with everything that is wrong */
  read(): Promise<RereadConfig>;
  /** @throws UserFileError when what it names can't be used; then nothing has changed */
  apply(config: Config, secrets: ReadonlySet<string>): Promise<void>;
  counted(outcome: ReloadOutcome['outcome']): void;
}

/** Options that are looked at only when the gateway starts. */
const AT_START = ['listen', 'admin', 'data', 'state'];
const REFUSED = 'configuration refused, the old one stays';

/** The reloads of one gateway. */
export class Reloads {
  readonly #parts: ReloadParts;
  #running: Promise<ReloadOutcome> | undefined;
  #next: Promise<ReloadOutcome> | undefined;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
  }

  /**
   * Reads the configuration again and goes on with it. While that is being done, all who ask have one more
   * in common, which reads what is there then.
   * @param trigger who asks, for the log
   */
  request(trigger: string): Promise<ReloadOutcome> {
    if (this.#running === undefined) {
      this.#running = this.#reload(trigger).finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.request(trigger);
    });
    return this.#next;
  }

  async #reload(trigger: string): Promise<ReloadOutcome> {
    const { logger, counted } = this.#parts;
    const result = await this.#outcome();
    counted(result.outcome);
    if (result.outcome === 'refused') {
      for (const error of result.errors) logger.error({ trigger, error }, REFUSED);
    } else if (result.needsRestart.length === 0) {
      logger.info({ trigger }, 'configuration reloaded');
    } else {
      const { needsRestart } = result;
      logger.warn(
        { trigger, needsRestart },
        'configuration reloaded, but for what needs a restart',
      );
    }
    return result;
  }

  async #outcome(): Promise<ReloadOutcome> {
    const { started, logger, read, apply } = this.#parts;
    try {
      const { config: wanted, secrets, warnings } = await read();
      const { config, needsRestart } = withoutRestart(started, wanted);
      const unsafe = exposureFaults(config);
      if (unsafe.length > 0) return { outcome: 'refused', errors: unsafe };
      for (const warning of warnings) logger.warn({ warning }, 'configuration');
      await apply(config, secrets);
      return { outcome: 'ok', needsRestart };
    } catch (error) {
      return { outcome: 'refused', errors: errorsOf(error) };
    }
  }
}

/** As much of a configuration as a running gateway can obey, and which of its options wait for a restart. */
export function withoutRestart(
  started: Config,
  wanted: Config,
): { readonly config: Config; readonly needsRestart: readonly string[] } {
  const before = new Map(Object.entries(started));
  const after = new Map(Object.entries(wanted));
  const needsRestart = AT_START.filter((key) => !isSameValue(before.get(key), after.get(key)));
  const kept = Object.fromEntries(needsRestart.map((key) => [key, before.get(key)]));
  const log = { ...wanted.log, messages: started.log.messages };
  const sessions = { ...wanted.sessions, keys: started.sessions.keys };
  if (!isSameValue(log, wanted.log)) needsRestart.push('log.messages');
  if (!isSameValue(sessions, wanted.sessions)) needsRestart.push('sessions.keys');
  return { config: { ...wanted, ...kept, log, sessions }, needsRestart };
}

function errorsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.issues.map(formatIssue);
  if (error instanceof UserFileError) return [error.message];
  const text = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  return [`internal error: ${text}`];
}
