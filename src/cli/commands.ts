// The commands. `main` runs a command line and returns the exit status; only main.ts ends the process.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { AdminPlace } from '../app/admin-client.ts';
import type { RereadConfig } from '../app/reload.ts';
import { UserFileError } from '../base/errors.ts';
import { EXIT } from '../base/exit-codes.ts';
import {
  type CommandLineConfig,
  commandLineConfig,
  remoteServerConfig,
  whatIsMissing,
} from '../config/command-line-server.ts';
import type { Config } from '../config/config.ts';
import type { ListenerFlags } from '../config/flags.ts';
import { processEnvironment } from '../config/interpolate.ts';
import { ConfigError, formatIssue } from '../config/issues.ts';
import type { LoadedConfig } from '../config/load.ts';
import {
  type ConnectInvocation,
  type Invocation,
  type PinInvocation,
  parseCommandLine,
  type ReloadInvocation,
  type RunInvocation,
  type ServeInvocation,
} from './args.ts';
import { helpText } from './help.ts';
import type { KeysInvocation } from './keys-args.ts';

/** The parts of the process that commands use. */
export interface ProcessContext {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly startGateway: StartGateway;
  /** Connects stdin and stdout of this process to the only server of a configuration. */
  readonly connect: (config: Config, version: string) => Promise<number>;
  /** Compares the tools of the servers with the accepted ones, and accepts them. */
  readonly pin: (config: Config, invocation: PinInvocation, version: string) => Promise<number>;
}

/** Runs a gateway. Resolves with the exit status when it has stopped. */
type StartGateway = (config: Config, options: GatewayLaunch) => Promise<number>;

/** What the gateway gets in addition to its configuration. */
export interface GatewayLaunch {
  readonly version: string;
  /** Stop when the parent process ends. */
  readonly exitWithParent: boolean;
  /** End if no server could be started after a few tries, because there is only one. */
  readonly needsServer: boolean;
  /** To be logged at the start, one sentence each. */
  readonly warnings: readonly string[];
  /** Texts that must not be logged. */
  readonly secrets: ReadonlySet<string>;
  /** Files that the configuration was read from, by their absolute paths. */
  readonly files?: readonly string[];
  /**
   * Reads the configuration again; absent where there is no file.
   * @throws ConfigError with everything that is wrong
   */
  readonly reread?: () => Promise<RereadConfig>;
}

const DEFAULT_ADMIN = 'http://127.0.0.1:9464';

/** The default configuration files, in this order. */
const DEFAULT_FILES = ['sluice.yaml', join('config', 'sluice.yaml')];

/**
 * Runs a command line.
 * @param argv the words after the program's name
 * @param context the real process by default
 * @returns the exit status
 */
export async function main(
  argv: readonly string[],
  context: ProcessContext = processContext(),
): Promise<number> {
  try {
    return await execute(parseCommandLine(argv), context);
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const issue of error.issues) {
        context.err(`${formatIssue(issue)}\n`);
      }
      return EXIT.failure;
    }
    if (error instanceof UserFileError) {
      context.err(`sluice: ${error.message}\n`);
      return EXIT.failure;
    }
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    context.err(`sluice: internal error: ${text}\n`);
    return EXIT.internal;
  }
}

/**
 * The version of this package.
 * @returns for example `1.2.3`
 */
export function packageVersion(): string {
  const content: unknown = createRequire(import.meta.url)('../../package.json');
  const isRecord = typeof content === 'object' && content !== null && 'version' in content;
  return isRecord ? String(content.version) : 'unknown';
}

async function execute(invocation: Invocation, context: ProcessContext): Promise<number> {
  switch (invocation.kind) {
    case 'help':
      context.out(helpText(invocation.command));
      return EXIT.ok;
    case 'version':
      context.out(`${packageVersion()}\n`);
      return EXIT.ok;
    case 'usage-error': {
      const help = `sluice ${invocation.command === undefined ? '' : `${invocation.command} `}--help`;
      context.err(`sluice: ${invocation.message}\nSee ${help}\n`);
      return EXIT.usage;
    }
    case 'check':
      return check(invocation.config, context);
    case 'serve':
      return serve(invocation, context);
    case 'run':
      return run(invocation, context);
    case 'connect':
      return connect(invocation, context);
    case 'pin': {
      const loaded = await loadFrom(invocation.config, context);
      if (loaded === undefined) {
        return EXIT.failure;
      }
      return context.pin(loaded.config, invocation, packageVersion());
    }
    case 'keys':
      return keys(invocation, context);
    case 'reload':
      return reload(invocation, context);
  }
}

async function keys(invocation: KeysInvocation, context: ProcessContext): Promise<number> {
  const { config, file: given, ...rest } = invocation;
  const file = given ?? (await loadFrom(config, context))?.config.auth?.keys?.file;
  if (file === undefined) {
    context.err('sluice: no key file: give one with --file, or set auth.keys.file\n');
    return EXIT.usage;
  }
  const { runKeys } = await import('../app/keys.ts');
  return runKeys({ ...rest, file: resolve(context.cwd, file), out: context.out, err: context.err });
}

async function reload(
  { admin, config, isJson }: ReloadInvocation,
  context: ProcessContext,
): Promise<number> {
  const place = admin === undefined ? await adminOf(config, context) : adminAt(admin, context);
  if (place === undefined) return EXIT.failure;
  const { runReload } = await import('../app/admin-client.ts');
  return runReload({ place, isJson, out: context.out, err: context.err });
}

async function adminOf(
  file: string | undefined,
  context: ProcessContext,
): Promise<AdminPlace | undefined> {
  if (file === undefined) return { url: DEFAULT_ADMIN };
  const loaded = await loadFrom(file, context);
  if (loaded === undefined) return undefined;
  const { socket, host, port } = loaded.config.admin;
  if (socket !== undefined) return { socketPath: socket };
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}` };
}

function adminAt(place: string, { cwd }: ProcessContext): AdminPlace {
  if (/^https?:/.test(place)) return { url: place };
  return { socketPath: resolve(cwd, place.replace(/^unix:/, '')) };
}

async function check(file: string | undefined, context: ProcessContext): Promise<number> {
  const loaded = await loadFrom(file, context);
  if (loaded === undefined) {
    return EXIT.failure;
  }
  for (const warning of warningsOf(loaded)) context.err(`${warning} (warning)\n`);
  for (const note of loaded.renamed) context.err(`${formatIssue(note)} (note)\n`);
  const { checkReport } = await import('../config/report.ts');
  context.out(checkReport(loaded));
  return EXIT.ok;
}

/**
 * All warnings about a configuration that will be used.
 * @throws ConfigError if the gateway can't start with it
 */
function warningsOf(loaded: LoadedConfig): string[] {
  const { issues, warnings } = loaded.preflight();
  if (issues.length > 0) throw new ConfigError(issues);
  return [...loaded.warnings, ...warnings].map(formatIssue);
}

async function serve(invocation: ServeInvocation, context: ProcessContext): Promise<number> {
  const file = configFile(invocation.config, context);
  if (file === undefined) return EXIT.failure;
  const read = async (): Promise<RereadConfig> => {
    const loaded = await loadFile(file, context, invocation);
    const { config, secrets, files } = loaded;
    return { config, warnings: warningsOf(loaded), secrets, files };
  };
  const { config, ...launch } = await read();
  return context.startGateway(config, {
    version: packageVersion(),
    exitWithParent: invocation.exitWithParent,
    needsServer: false,
    ...launch,
    reread: read,
  });
}

async function run(invocation: RunInvocation, context: ProcessContext): Promise<number> {
  const single = commandLineConfig(invocation, context.cwd, context.environment);
  if ('problems' in single) return refuse(single, 'run', context);
  const missing = whatIsMissing(single.config, context.environment);
  if (missing.length > 0) {
    for (const sentence of missing) context.err(`sluice: ${sentence}\n`);
    return EXIT.failure;
  }
  return context.startGateway(single.config, {
    version: packageVersion(),
    exitWithParent: invocation.exitWithParent,
    needsServer: true,
    warnings: single.warnings,
    secrets: new Set(),
  });
}

async function connect(invocation: ConnectInvocation, context: ProcessContext): Promise<number> {
  const single = remoteServerConfig(invocation, context.cwd);
  if ('problems' in single) return refuse(single, 'connect', context);
  return context.connect(single.config, packageVersion());
}

function refuse(
  { problems }: Extract<CommandLineConfig, { problems: unknown }>,
  command: string,
  context: ProcessContext,
): number {
  const lines = problems.map((problem) => `sluice: ${problem}\n`).join('');
  context.err(`${lines}See sluice ${command} --help\n`);
  return EXIT.usage;
}

async function loadFrom(
  given: string | undefined,
  context: ProcessContext,
): Promise<LoadedConfig | undefined> {
  const file = configFile(given, context);
  return file === undefined ? undefined : await loadFile(file, context);
}

/** The configuration file; undefined, and said so, where there is none. */
function configFile(file: string | undefined, context: ProcessContext): string | undefined {
  const found = file ?? DEFAULT_FILES.find((name) => existsSync(join(context.cwd, name)));
  if (found === undefined) {
    context.err(
      `sluice: no configuration found: neither ${DEFAULT_FILES.join(' nor ')} is in ${context.cwd}. ` +
        'Give one with --config FILE, or run one server with sluice run -- COMMAND\n',
    );
  }
  return found;
}

/** Loaded on demand, because `run` and `connect` read no configuration file. */
async function loadFile(
  file: string,
  context: ProcessContext,
  flags: ListenerFlags = {},
): Promise<LoadedConfig> {
  const { load } = await import('../config/load.ts');
  return load(file, context.environment, context.cwd, flags);
}

function processContext(): ProcessContext {
  return {
    cwd: process.cwd(),
    environment: processEnvironment(),
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    // Loaded on demand, so that `check` and `--help` start fast.
    startGateway: async (config, options) => {
      const { runGateway } = await import('../app/run.ts');
      return runGateway(config, { ...options, environment: processEnvironment() });
    },
    connect: async (config, version) => {
      const { runConnect } = await import('../app/connect.ts');
      return runConnect(config, {
        version,
        environment: processEnvironment(),
        input: process.stdin,
        output: process.stdout,
        tell: (line) => process.stderr.write(`sluice connect: ${line}\n`),
      });
    },
    pin: async (config, { servers, isDryRun, isYes }, version) => {
      const { runPin } = await import('../app/pin.ts');
      return runPin(config, {
        version,
        environment: processEnvironment(),
        servers,
        isDryRun,
        isYes,
        out: (text) => process.stdout.write(text),
        err: (text) => process.stderr.write(text),
        confirm: process.stdin.isTTY && process.stdout.isTTY ? confirm : undefined,
      });
    },
  };
}

/** Asks on the terminal. Every answer except yes means no. */
function confirm(question: string): Promise<boolean> {
  process.stdout.write(question);
  return new Promise((resolve) => {
    process.stdin.once('end', () => resolve(false));
    process.stdin.once('data', (line) => {
      process.stdin.pause();
      resolve(/^y(es)?$/i.test(line.toString().trim()));
    });
  });
}
