// The process around a gateway: start, wait for a reason to stop, drain, exit status.

import { messageOf, UserFileError } from '../base/errors.ts';
import { EXIT } from '../base/exit-codes.ts';
import type { Config } from '../config/config.ts';
import { createLogger, type Logger, setLogLevel } from '../observe/logger.ts';
import { FirstStarts } from '../upstream/restarts.ts';
import { killChildren } from '../upstream/stdio/child-process.ts';
import type { Environment } from '../upstream/stdio/environment.ts';
import { type KeptData, openData } from './data.ts';
import { Gateway } from './gateway.ts';
import { watchIdleMemory } from './idle-memory.ts';
import { ListenError } from './listen-error.ts';
import { Reloads, type RereadConfig } from './reload.ts';
import { type Stop, untilStopped } from './stop.ts';

/** How often the only server is started without ever being ready. */
const FIRST_TRIES = 5;
/** What a gateway says of signals whose default is to end the process or to open a debugger. */
const IGNORED = {
  SIGUSR1: 'SIGUSR1 is ignored',
  SIGUSR2: 'SIGUSR2 is ignored',
} as const;
const NO_FILE = 'SIGHUP does nothing: there is no configuration file to read again';
/** Process 1 must reap processes that servers leave behind (docs/reliability.md#f58). */
const WITHOUT_INIT =
  'this is process 1, which does not reap orphans: start it under an init (tini, docker run --init)';

/** What the gateway gets in addition to its configuration. */
export interface RunOptions {
  readonly version: string;
  /** Stop when the parent process ends. */
  readonly exitWithParent: boolean;
  /** To be logged at the start, one sentence each. */
  readonly warnings: readonly string[];
  /** End if no server could be started after a few tries, because there is only one. */
  readonly needsServer: boolean;
  /** Texts that must not be logged. */
  readonly secrets: ReadonlySet<string>;
  /** Files that the configuration was read from, by their absolute paths. */
  readonly files?: readonly string[];
  /** The variables of which servers get a part. */
  readonly environment: Environment;
  /**
   * Reads the configuration again; absent where there is no file.
   * @throws ConfigError with everything that is wrong
   */
  readonly reread?: (() => Promise<RereadConfig>) | undefined;
}

/** Told of a gateway when it is built; `reloads` is undefined where there is no file to read again. */
type OnBuilt = (gateway: Gateway, reloads: Reloads | undefined) => void;

/**
 * Runs a gateway until it is stopped. It is the only work of this process.
 * @returns the exit status
 */
export async function runGateway(config: Config, options: RunOptions): Promise<number> {
  const logger = createLogger(config.log);
  if (process.pid === 1) logger.warn(WITHOUT_INIT);
  const stop = untilStopped(options.exitWithParent);
  ignoreOtherSignals(logger);
  // Before there is a gateway the file was read a moment ago.
  let hangUp = (): void => undefined;
  process.on('SIGHUP', () => hangUp());
  const onBuilt: OnBuilt = (gateway, reloads) => {
    process.once('exit', () => {
      killChildren();
      gateway.flush();
    });
    hangUp = () => {
      if (reloads === undefined) logger.warn(NO_FILE);
      else void reloads.request('SIGHUP');
    };
  };
  const memory = watchIdleMemory();
  const status = await runUntilStopped(config, options, { logger, stop, onBuilt });
  memory?.close();
  return status === EXIT.ok && stop.isBroken ? EXIT.internal : status;
}

/**
 * Like `runGateway`, but does not touch signals and streams of the process.
 * @returns the exit status
 */
export async function runUntilStopped(
  config: Config,
  options: RunOptions,
  around: {
    readonly logger: Logger;
    readonly stop: Stop;
    readonly onBuilt?: OnBuilt;
  },
): Promise<number> {
  const { logger, stop } = around;
  for (const warning of options.warnings) logger.warn({ warning }, 'configuration');
  let gateway: Gateway | undefined;
  let data: KeptData | undefined;
  let reloads: Reloads | undefined;
  let neverReady: string | undefined;
  try {
    data = await openData(config, logger);
    // Reads the files that the configuration names: certificates, the audit log.
    gateway = new Gateway(config, {
      reload: () => reloads?.request('POST /reload'),
      logger,
      data,
      version: options.version,
      environment: options.environment,
      secrets: options.secrets,
      firstStarts: options.needsServer
        ? new FirstStarts(FIRST_TRIES, (why) => {
            neverReady = why;
            stop.stop('the server was never ready');
          })
        : undefined,
    });
    reloads = reloadsOf(gateway, config, { ...options, logger });
    around.onBuilt?.(gateway, reloads);
    // A signal during the start must not wait for slow servers.
    await Promise.race([gateway.start(), stop.reason]);
  } catch (error) {
    // For errors that the user can fix, a stack trace is of no use.
    const isExplained = error instanceof UserFileError || error instanceof ListenError;
    logger.fatal(isExplained ? {} : { err: error }, `cannot start: ${messageOf(error)}`);
    reloads?.close();
    await gateway?.stop();
    await data?.close();
    return EXIT.failure;
  }
  const reason = await stop.reason;
  logger.info({ reason }, 'stopping');
  stop.isStopping = true;
  reloads?.close();
  await gateway.stop();
  await data.close();
  logger.info('stopped');
  if (neverReady !== undefined) {
    logger.fatal(`cannot start: the server was never ready in ${FIRST_TRIES} tries: ${neverReady}`);
    return EXIT.failure;
  }
  return EXIT.ok;
}

function reloadsOf(
  gateway: Gateway,
  started: Config,
  {
    reread,
    files = [],
    logger,
  }: Pick<RunOptions, 'reread' | 'files'> & { readonly logger: Logger },
): Reloads | undefined {
  if (reread === undefined) return undefined;
  return new Reloads({
    files,
    started,
    logger,
    read: reread,
    apply: async (config, secrets) => {
      await gateway.change(config, secrets);
      setLogLevel(logger, config.log.level);
    },
    counted: (outcome) => gateway.noteReload(outcome),
  });
}

/** The gateway keeps running when its terminal is closed, and no debugger opens. */
function ignoreOtherSignals(logger: Logger): void {
  for (const [signal, text] of Object.entries(IGNORED)) process.on(signal, () => logger.warn(text));
}
