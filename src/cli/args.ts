// Parses the command line. Does not look at files or servers.
import { parseArgs } from 'node:util';
import { COMMANDS, type CommandName } from './help.ts';
import { type KeysInvocation, parseKeys } from './keys-args.ts';

/** What the user asked for. */
export type Invocation =
  | { readonly kind: 'help'; readonly command: CommandName | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage-error'; readonly message: string; readonly command?: CommandName }
  | ServeInvocation
  | { readonly kind: 'check'; readonly config?: string }
  | RunInvocation
  | ConnectInvocation
  | KeysInvocation
  | PinInvocation
  | ReloadInvocation;

/** `sluice serve`. Absent flags are undefined. */
export interface ServeInvocation {
  readonly kind: 'serve';
  readonly config?: string;
  readonly port: number | undefined;
  readonly host: string | undefined;
  readonly adminPort: number | undefined;
  readonly exitWithParent: boolean;
}

/** `sluice run`. Absent flags are undefined; ranges are checked with the configuration. */
export interface RunInvocation {
  readonly kind: 'run';
  readonly command: string;
  readonly args: readonly string[];
  readonly port: number | undefined;
  readonly host: string | undefined;
  readonly sharing: string | undefined;
  readonly adminPort: number | undefined;
  readonly allowUnauthenticated: boolean;
  readonly exitWithParent: boolean;
}

/** `sluice connect`. */
export interface ConnectInvocation {
  readonly kind: 'connect';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** `sluice pin`. */
export interface PinInvocation {
  readonly kind: 'pin';
  readonly config?: string;
  /** Empty: all servers. */
  readonly servers: readonly string[];
  readonly isDryRun: boolean;
  readonly isYes: boolean;
}

/** `sluice reload`. */
export interface ReloadInvocation {
  readonly kind: 'reload';
  readonly config?: string;
  /** URL or path of the socket of the admin listener. */
  readonly admin?: string;
  readonly isJson: boolean;
}

const HELP = { help: { type: 'boolean', short: 'h' } } as const;
const CONFIG = { config: { type: 'string', short: 'c' } } as const;
const PARENT = { 'exit-with-parent': { type: 'boolean' } } as const;
const LISTENERS = {
  port: { type: 'string', short: 'p' },
  host: { type: 'string' },
  'admin-port': { type: 'string' },
} as const;
const RUN = {
  ...HELP,
  ...PARENT,
  ...LISTENERS,
  sharing: { type: 'string' },
  'allow-unauthenticated': { type: 'boolean' },
} as const;

/**
 * Parses the command line.
 * @param argv the words after the program's name
 * @returns what to do; never throws
 */
export function parseCommandLine(argv: readonly string[]): Invocation {
  const [first, ...rest] = argv;
  switch (first) {
    case undefined:
      return { kind: 'usage-error', message: 'no command given' };
    case '-h':
    case '--help':
      return { kind: 'help', command: undefined };
    case 'help':
      return { kind: 'help', command: COMMANDS.find((command) => command === rest[0]) };
    case '-v':
    case '--version':
      return { kind: 'version' };
    default:
      break;
  }
  const command = COMMANDS.find((name) => name === first);
  if (command === undefined) {
    const message = `unknown command "${first}": must be one of ${COMMANDS.join(', ')}`;
    return { kind: 'usage-error', message };
  }
  if (beforeDashes(rest).includes('--version')) {
    return { kind: 'version' };
  }
  try {
    return parseCommand(command, rest);
  } catch (error) {
    // parseArgs throws a TypeError with a sentence for the user.
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'usage-error', message, command };
  }
}

function parseCommand(command: CommandName, words: readonly string[]): Invocation {
  switch (command) {
    case 'serve':
      return parseServe(words);
    case 'check': {
      const { values } = parseArgs({ args: [...words], options: { ...HELP, ...CONFIG } });
      return values.help === true
        ? { kind: 'help', command }
        : { kind: 'check', ...given('config', values.config) };
    }
    case 'run':
      return parseRun(words);
    case 'connect':
      return parseConnect(words);
    case 'pin':
      return parsePin(words);
    case 'reload':
      return parseReload(words);
    case 'keys': {
      const read = parseKeys(words);
      if (read === 'help') return { kind: 'help', command };
      return 'problem' in read ? { kind: 'usage-error', message: read.problem, command } : read;
    }
  }
}

function parseServe(words: readonly string[]): Invocation {
  const options = { ...HELP, ...CONFIG, ...LISTENERS, ...PARENT };
  const { values } = parseArgs({ args: [...words], options });
  if (values.help === true) {
    return { kind: 'help', command: 'serve' };
  }
  return {
    kind: 'serve',
    port: numberOf('port', values.port),
    host: values.host,
    adminPort: numberOf('admin-port', values['admin-port']),
    exitWithParent: values['exit-with-parent'] === true,
    ...given('config', values.config),
  };
}

function parseReload(words: readonly string[]): Invocation {
  const options = {
    ...HELP,
    ...CONFIG,
    admin: { type: 'string' },
    json: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ args: [...words], options });
  if (values.help === true) {
    return { kind: 'help', command: 'reload' };
  }
  return {
    kind: 'reload',
    isJson: values.json === true,
    ...given('config', values.config),
    ...given('admin', values.admin),
  };
}

function parsePin(words: readonly string[]): Invocation {
  const options = {
    ...HELP,
    ...CONFIG,
    server: { type: 'string', short: 's', multiple: true },
    'dry-run': { type: 'boolean' },
    yes: { type: 'boolean', short: 'y' },
  } as const;
  const { values } = parseArgs({ args: [...words], options });
  if (values.help === true) {
    return { kind: 'help', command: 'pin' };
  }
  return {
    kind: 'pin',
    servers: values.server ?? [],
    isDryRun: values['dry-run'] === true,
    isYes: values.yes === true,
    ...given('config', values.config),
  };
}

function parseConnect(words: readonly string[]): Invocation {
  const options = { ...HELP, header: { type: 'string', short: 'H', multiple: true } } as const;
  const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
  if (values.help === true) {
    return { kind: 'help', command: 'connect' };
  }
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0) {
    const what =
      url === undefined ? 'no URL given' : `unexpected argument "${more[0]}" after the URL`;
    const message = `${what}: give one URL, for example sluice connect https://mcp.example.com/mcp`;
    return { kind: 'usage-error', message, command: 'connect' };
  }
  return { kind: 'connect', url, headers: headersOf(values.header ?? []) };
}

function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      // The text may be a secret, so it is not repeated.
      if (colon < 1)
        throw new TypeError("--header must be a name and a value, such as 'Name: value'");
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

function parseRun(words: readonly string[]): Invocation {
  const own = beforeDashes(words);
  const { values, positionals } = parseArgs({ args: own, options: RUN, allowPositionals: true });
  if (values.help === true) {
    return { kind: 'help', command: 'run' };
  }
  const [command, ...args] = words.slice(own.length + 1);
  if (command === undefined || positionals.length > 0) {
    const what =
      positionals.length > 0
        ? `unexpected argument "${positionals[0]}" before --`
        : 'no server command given';
    const message = `${what}: write the server command after --, for example sluice run -- npx some-server`;
    return { kind: 'usage-error', message, command: 'run' };
  }
  return {
    kind: 'run',
    command,
    args,
    port: numberOf('port', values.port),
    host: values.host,
    sharing: values.sharing,
    adminPort: numberOf('admin-port', values['admin-port']),
    allowUnauthenticated: values['allow-unauthenticated'] === true,
    exitWithParent: values['exit-with-parent'] === true,
  };
}

// Words after `--` belong to the server, even if they look like flags.
function beforeDashes(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end);
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  if (!/^\d{1,9}$/.test(text)) {
    throw new TypeError(`--${flag} is "${text}", must be a port number`);
  }
  return Number(text);
}

function given<Key extends string>(key: Key, value: string | undefined): { [K in Key]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: string });
}
