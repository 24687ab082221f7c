// Reloads of the configuration: one at a time, each whole or not at all (docs/operations.md#reload).

import { messageOf, UserFileError } from '../base/errors.ts';
import { isFile } from '../base/folders.ts';
import { isSameValue } from '../base/same-value.ts';
import { WatchedFiles } from '../base/watched-files.ts';
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
  /** What it was read from, by absolute paths; the configuration file itself comes first. */
  readonly files: readonly string[];
}

export interface ReloadParts {
  /** What the gateway was started with. */
  readonly started: Config;
  /** What that was read from. */
  readonly files: readonly string[];
  readonly logger: Logger;
  /** @throws ConfigError with everything that is wrong */
  read(): Promise<RereadConfig>;
  /** @throws UserFileError when what it names can't be used; then nothing has changed */
  apply(config: Config, secrets: ReadonlySet<string>): Promise<void>;
  counted(outcome: ReloadOutcome['outcome']): void;
}

/** Options that are looked at only when the gateway starts. */
const AT_START = ['listen', 'admin', 'data', 'state'];
/** How long files must not change before they are read again. */
const QUIET_MS = 300;
/** Files besides the configuration that are looked at. */
const MAX_FILES = 256;
const REFUSED = 'configuration refused, the old one stays';

/** The reloads of one gateway. */
export class Reloads {
  readonly #parts: ReloadParts;
  #running: Promise<ReloadOutcome> | undefined;
  #next: Promise<ReloadOutcome> | undefined;
  #watch: WatchedFiles | undefined;
  #isClosed = false;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
    this.#follow(parts.started.reload.watch ? parts.files : []);
  }

  /** Looks at no files any more. */
  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
  }

  #follow(files: readonly string[]): void {
    this.#watch?.close();
    this.#watch = undefined;
    const [file, ...others] = files;
    // A pipe has nothing more to say.
    if (this.#isClosed || file === undefined || !isFile(file)) return;
    const watched = [file, ...others.slice(0, MAX_FILES)];
    this.#watch = new WatchedFiles(watched, () => void this.request('file changed'), QUIET_MS);
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
    const { started, files, logger, read, apply } = this.#parts;
    // What changes from now on may not be in what is read.
    this.#watch?.note();
    try {
      const { config: wanted, secrets, warnings, files: named } = await read();
      this.#follow(wanted.reload.watch ? named : []);
      const { config, needsRestart } = withoutRestart(started, wanted);
      const unsafe = exposureFaults(config);
      if (unsafe.length > 0) return { outcome: 'refused', errors: unsafe };
      for (const warning of warnings) logger.warn({ warning }, 'configuration');
      await apply(config, secrets);
      return { outcome: 'ok', needsRestart };
    } catch (error) {
      // It may be right as soon as one of them is another one.
      if (error instanceof ConfigError && error.files.length > 0 && this.#watch !== undefined) {
        this.#follow([...files.slice(0, 1), ...error.files]);
      }
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
