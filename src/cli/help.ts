// The texts of --help.

const GENERAL = `Sluice: a gateway for the Model Context Protocol. Many clients share few servers.

Usage:
  sluice serve [options]                       run the gateway
  sluice run [options] -- COMMAND [ARGS...]    run one server, without a file
  sluice check [--config FILE]                 validate a configuration and print it with all defaults
  sluice connect URL [--header 'K: V']         serve a remote endpoint on stdin and stdout
  sluice pin [options]                         compare and accept the tool definitions of the servers
  sluice keys add|list|revoke                  manage the API keys of clients
  sluice reload                                have a running gateway read its configuration again

  sluice COMMAND --help                        more about a command
  sluice --version

Exit status: 0 success, 1 can't start, 2 wrong usage, 70 internal error, 143 after a second SIGTERM.
`;

const SERVE = `Usage: sluice serve [options]

Runs the gateway until SIGTERM, SIGINT or SIGQUIT. Logs go to stderr as JSON lines.

  -c, --config FILE     the configuration file; default ./sluice.yaml, then config/sluice.yaml
  -p, --port N          port of the gateway, instead of listen.port; 0 chooses a free port
  --host HOST           address to listen on, instead of listen.host
  --admin-port N        port of /metrics, /healthz and /readyz, instead of admin.port or admin.socket
  --exit-with-parent    stop when the parent process of the gateway ends
  -h, --help            show this help

Each server has the paths /servers/NAME/mcp (Streamable HTTP), /servers/NAME/sse (HTTP+SSE) and
/servers/NAME/ws (WebSocket). /mcp, /sse and /ws serve all servers together.
`;

const RUN = `Usage: sluice run [options] -- COMMAND [ARGS...]

Runs one server without a configuration file. Its paths are /mcp, /sse and /ws. Exits with status 1 if the
program is not found, or the server could not be started after five attempts.

  -p, --port N               port of the gateway; default 8080, 0 chooses a free port
  --host HOST                address to listen on; default 127.0.0.1
  --allow-unauthenticated    listen on an address that is not loopback, without authentication
  --sharing MODE             shared (default), principal or session: which clients share a process
  --admin-port N             port of /metrics, /healthz and /readyz on 127.0.0.1;
                             default: a free port, which the log shows
  --exit-with-parent         stop when the parent process of the gateway ends
  -h, --help                 show this help

Example:
  sluice run -- npx -y @modelcontextprotocol/server-filesystem /data
`;

const CHECK = `Usage: sluice check [--config FILE]

Validates the configuration. If it is valid, prints it with all defaults and with secrets masked, and exits
with status 0. Otherwise prints each error with file, line, column, key and a correction, and exits with
status 1.

  -c, --config FILE    the configuration file; default ./sluice.yaml, then config/sluice.yaml
  -h, --help           show this help
`;

const CONNECT = `Usage: sluice connect URL [--header 'NAME: VALUE']...

For MCP hosts that can only start processes: acts as a stdio server for the host, and as a client of the MCP
endpoint at URL, over Streamable HTTP or HTTP+SSE. Host and endpoint may use different protocol versions.
Ends when stdin ends. Logs go to stderr as JSON lines. If the endpoint can't be reached, it retries for a
few seconds before it reports an error. Exits with status 1 if the endpoint never worked.

  -H, --header 'NAME: VALUE'    header of every request; may be repeated
  -h, --help                    show this help

Example:
  sluice connect https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"
`;

const PIN = `Usage: sluice pin [options]

Starts each server, lists its tools, and shows which are new, changed or removed since you last accepted
them. If you accept, writes the lock file next to the configuration file (sluice.lock.json for sluice.yaml).
Exits with status 1 if there are differences that were not accepted, or if the tools of a server can't be
listed.

  -c, --config FILE     the configuration file; default ./sluice.yaml, then config/sluice.yaml
  -s, --server NAME     only this server; may be repeated
  --dry-run             only show the differences
  -y, --yes             accept without asking; needed if there is no terminal
  -h, --help            show this help
`;

const KEYS = `Usage: sluice keys add --name NAME [options]
       sluice keys list
       sluice keys revoke ID

Manages the API keys of clients in a key file (auth.keys.file of the configuration). The file contains only
hashes: a new key is printed once, on stdout. A running gateway reads a changed file within a second.

  -n, --name NAME       name of the key, for lists and logs
  -g, --group GROUP     a group for the rules in auth.allow; may be repeated
  --scope SCOPE         a scope for the rules in auth.allow; may be repeated
  --expires WHEN        a duration such as 90d, or a date such as 2027-01-31; default never
  -f, --file FILE       the key file, instead of the one in the configuration
  -c, --config FILE     the configuration file; default ./sluice.yaml, then config/sluice.yaml
  -h, --help            show this help

Example:
  sluice keys add --file keys.json --name ci --group build --expires 90d
`;

const RELOAD = `Usage: sluice reload [options]

Has a running gateway read its configuration again, and waits until it has: the servers that are new or
changed were started, and sessions have moved. If the configuration is wrong, nothing changes: prints each
error and exits with status 1.

  --admin WHERE        URL or socket of the admin listener; default: that of --config, or
                       http://127.0.0.1:9464
  -c, --config FILE    the configuration file that names the admin listener
  --json               print the answer of the gateway
  -h, --help           show this help
`;

const TEXTS = {
  serve: SERVE,
  run: RUN,
  check: CHECK,
  connect: CONNECT,
  pin: PIN,
  keys: KEYS,
  reload: RELOAD,
} as const;

/** A command of the program. */
export type CommandName = keyof typeof TEXTS;

/** Every command, in the order of the help. */
export const COMMANDS = Object.keys(TEXTS) as CommandName[];

/**
 * The help text.
 * @param command a command, or undefined for the overview
 * @returns text that ends in a newline
 */
export function helpText(command: CommandName | undefined): string {
  return command === undefined ? GENERAL : TEXTS[command];
}
