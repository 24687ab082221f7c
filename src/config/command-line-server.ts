// The configuration of `sluice run` and `sluice connect`: one server from flags, without a file. It is
// checked like a file; errors name the flag instead of a line.
import type { Config } from './config.ts';
import { LISTENER_FLAGS } from './flags.ts';
import { dataFolderIn } from './interpolate.ts';
import { type Fault, formatPath } from './issues.ts';
import { preflight } from './preflight.ts';
import { resolveConfig } from './resolve.ts';

/** The flags of `sluice run`. */
export interface CommandLineServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly port: number | undefined;
  readonly host: string | undefined;
  readonly sharing: string | undefined;
  readonly adminPort: number | undefined;
  readonly allowUnauthenticated: boolean;
}

/** The result of reading the flags. */
export type CommandLineConfig =
  | { readonly config: Config; readonly warnings: readonly string[] }
  | { readonly problems: readonly string[] };

const FLAGS: Readonly<Record<string, string>> = {
  ...LISTENER_FLAGS,
  'servers.server.sharing': '--sharing',
  'servers.server.command': 'COMMAND',
  'servers.server.url': 'URL',
  'servers.server.headers': '--header',
};

/**
 * Makes the configuration of one server, named `server`.
 * @param folder absolute; the server's working directory, and the base of relative commands
 * @param environment may name the data folder
 */
export function commandLineConfig(
  flags: CommandLineServer,
  folder: string,
  environment: Readonly<Record<string, string | undefined>> = {},
): CommandLineConfig {
  const { command, args, sharing, port, host, allowUnauthenticated, adminPort = 0 } = flags;
  const listen = { port, host, allowUnauthenticated };
  const servers = { server: { command, args, sharing } };
  const raw = { listen, admin: { port: adminPort }, servers };
  return resolveFlags(raw, folder, dataFolderIn(environment));
}

/** The flags of `sluice connect`. */
export interface RemoteServer {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes the configuration of one remote server, named `server`, for one client. */
export function remoteServerConfig(flags: RemoteServer, folder: string): CommandLineConfig {
  // The server sees its only client unchanged, and gets no request before the client connects.
  const server = { url: flags.url, headers: flags.headers, sharing: 'session', start: 'lazy' };
  return resolveFlags({ servers: { server } }, folder);
}

function resolveFlags(raw: unknown, folder: string, data?: string): CommandLineConfig {
  const context = {
    file: undefined,
    folder,
    data,
    host: undefined,
    isHidden: () => false,
    variable: () => undefined,
  };
  const { config, faults, warnings } = resolveConfig(raw, context);
  if (config === undefined) {
    return {
      problems: faults.map(({ path, message }) => {
        const place = formatPath(path);
        const flag = FLAGS[place] ?? (place.startsWith('servers.server.args') ? 'ARGS' : place);
        const words = message.replace(
          'set listen.allowUnauthenticated: true',
          'add --allow-unauthenticated',
        );
        return `${flag} ${words}`;
      }),
    };
  }
  const texts = warnings.map((warning) =>
    inFlags(warning).replace(
      'listen.allowUnauthenticated is true',
      '--allow-unauthenticated is given',
    ),
  );
  return { config, warnings: texts };
}

/** What is missing to start the server, in one sentence each. */
export function whatIsMissing(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const { faults, warnings } = preflight(config, {
    environment,
    placeOf: (server, own) => ['servers', server, ...own],
    isHidden: () => false,
  });
  return [...faults, ...warnings].map(inFlags);
}

function inFlags({ path, message }: Fault): string {
  return `${FLAGS[formatPath(path)] ?? formatPath(path)} ${message}`;
}
