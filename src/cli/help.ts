// The texts of --help. Nothing else prints help.

const GENERAL = `Sluice: a gateway for the Model Context Protocol. Many clients share few servers.

Usage:
  sluice serve [options]                       run the gateway
  sluice run [options] -- COMMAND [ARGS...]    run one server, without a file
  sluice check [--config FILE]                 validate a configuration and print it resolved
  sluice connect URL [--header 'K: V']         be a stdio server over a remote endpoint
  sluice pin [options]                         accept the definitions of the servers' tools

  sluice keys add|list|revoke                  API keys of clients

  sluice COMMAND --help                        more about a command
  sluice --version

Exit status: 0 ok, 1 can't start, 2 usage, 70 internal, 143 ended by a second SIGTERM.
`;

const SERVE = `Usage: sluice serve [options]

Runs the gateway until SIGTERM, SIGINT or SIGQUIT. Logs go to stderr as JSON lines.

  -c, --config FILE     the configuration; default ./sluice.yaml, then config/sluice.yaml
  -p, --port N          port of the gateway, instead of listen.port; 0 lets the system choose
  --host HOST           address to listen on, instead of listen.host
  --admin-port N        port of /metrics, /healthz and /readyz, instead of admin.port or admin.socket
  --exit-with-parent    stop when the process that started the gateway ends
  -h, --help            show this

Each server NAME is at /servers/NAME/mcp (Streamable HTTP), /servers/NAME/sse and
/servers/NAME/ws; with one server, it is at /mcp, /sse and /ws too.
`;

const RUN = `Usage: sluice run [options] -- COMMAND [ARGS...]

Runs one server without a configuration file. It is at /mcp, /sse and /ws. Exits with 1 when the server
is not there, or could not be started in five tries.

  -p, --port N               port of the gateway; default 8080, 0 lets the system choose
  --host HOST                address to listen on; default 127.0.0.1
  --allow-unauthenticated    listen on an address that is not loopback, without authentication
  --sharing MODE             shared (default), principal or session: which clients share a process
  --admin-port N             port of /metrics, /healthz and /readyz on 127.0.0.1;
                             by default the system chooses, and the log says which
  --exit-with-parent         stop when the process that started the gateway ends
  -h, --help                 show this

Example:
  sluice run -- npx -y @modelcontextprotocol/server-filesystem /data
`;

const CHECK = `Usage: sluice check [--config FILE]

Validates the configuration. Prints it resolved, with every default and with secrets masked, and
exits with 0; or prints each fault as file:line:column: key: what is wrong and what would be
right, and exits with 1.

  -c, --config FILE    the configuration; default ./sluice.yaml, then config/sluice.yaml
  -h, --help           show this
`;

const CONNECT = `Usage: sluice connect URL [--header 'NAME: VALUE']...

A stdio server for hosts that only start processes: speaks with its client on stdin and stdout, and
with the MCP endpoint at URL over Streamable HTTP or HTTP+SSE. Client and endpoint may be of any
protocol version. Ends when stdin ends. Logs go to stderr as JSON lines. An endpoint that can't be
used is tried for a few seconds before the client is told; exits with 1 when it never could be.

  -H, --header 'NAME: VALUE'    sent with every request; may be given several times
  -h, --help                    show this

Example:
  sluice connect https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"
`;

const PIN = `Usage: sluice pin [options]

Starts each server, lists its tools and shows what is new, changed or removed since their
definitions were accepted last. Accepts them when told so: writes the lock file, which stands beside
the configuration (sluice.yaml has sluice.lock.json). Exits with 1 when something differs and was
not accepted, or when the tools of a server can't be listed.

  -c, --config FILE     the configuration; default ./sluice.yaml, then config/sluice.yaml
  -s, --server NAME     only this server; may be given several times
  --dry-run             only show
  -y, --yes             accept without asking; without a terminal nothing is accepted otherwise
  -h, --help            show this
`;

const KEYS = `Usage: sluice keys add --name NAME [options]
       sluice keys list
       sluice keys revoke ID

API keys of clients (auth.keys.file of the configuration). The file keeps only their hashes: a new key
is printed once, on stdout. A running gateway follows the file within a second.

  -n, --name NAME       whose key it is, for lists and logs
  -g, --group GROUP     a group that auth.allow may name; may be given several times
  --scope SCOPE         a scope that auth.allow may name; may be given several times
  --expires WHEN        90d, or a date such as 2027-01-31; default never
  -f, --file FILE       the key file, instead of the one in the configuration
  -c, --config FILE     the configuration; default ./sluice.yaml, then config/sluice.yaml
  -h, --help            show this

Example:
  sluice keys add --file keys.json --name ci --group build --expires 90d
`;

const TEXTS = {
  serve: SERVE,
  run: RUN,
  check: CHECK,
  connect: CONNECT,
  pin: PIN,
  keys: KEYS,
} as const;

/** A command of the program. */
export type CommandName = keyof typeof TEXTS;

/** Every command, in the order of the help. */
export const COMMANDS = Object.keys(TEXTS) as CommandName[];

/**
 * The help text.
 *
 * @param command a command, or undefined for the overview
 * @returns text that ends in a newline
 */
export function helpText(command: CommandName | undefined): string {
  return command === undefined ? GENERAL : TEXTS[command];
}
