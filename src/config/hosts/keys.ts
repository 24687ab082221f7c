// The keys of hosts in the entry of a server, and how each is handled. docs/host-files.md lists them by host.
import { closestName } from '../closest-name.ts';
import { describe } from '../issues.ts';
import { remoteServerSchema, serverSchema } from '../server-entry.ts';
import { HOST_SWITCHES } from './switches.ts';

/** Approvals and display. They don't change which server is meant, or which tools are shown. */
const HOSTS_OWN: ReadonlySet<string> = new Set([
  ...HOST_SWITCHES.keys(),
  'alwaysAllow',
  'alwaysLoad',
  'autoApprove',
  'default_tools_approval_mode',
  'description',
  'dev',
  'displayName',
  'extensionName',
  'gallery',
  'icon',
  'name',
  'remote',
  'required',
  'settings',
  'supports_parallel_tool_calls',
  'title',
  'trust',
  'version',
  'watchPaths',
]);

const LOGIN = 'is for the login that the host does: ignored, give the server headers or auth';
const SANDBOX = 'is not done here: ignored, set wrap, runAs and limits to keep the process apart';

/**
 * Authentication and other features of hosts that the gateway does not have. The server may need them, so
 * they cause a warning.
 */
export const NOT_DONE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    auth: 'is for the login that the host does: ignored, give the server headers, or an auth with a type',
    authProviderType: LOGIN,
    experimental_environment: 'is where the host runs the server: ignored, it runs here',
    oauth: LOGIN,
    oauth_resource: LOGIN,
    sandbox: SANDBOX,
    sandboxEnabled: SANDBOX,
    scopes: LOGIN,
  }),
);

/** Features that the server can't work without. */
export const REFUSED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    bearer_token:
      'is no key of a host: must be bearer_token_env_var, the name of a variable with the token',
    envFile: 'is not read: must be env with each variable, such as NAME: "${NAME}"',
    headersHelper: 'is not run: must be headers, such as Authorization: "Bearer ${file:/path}"',
    targetAudience: 'is for a login that the gateway does not do: must be headers or auth',
    targetServiceAccount: 'is for a login that the gateway does not do: must be headers or auth',
    tcp: 'is a WebSocket, which the gateway does not call: must be url or command',
  }),
);

/** Keys that the gateway has under another name. */
export const RENAMED: ReadonlyMap<string, string> = new Map([
  ['environment', 'env'],
  ['http_headers', 'headers'],
  ['serverUrl', 'url'],
]);

export const TOOL_LISTS: ReadonlyMap<string, 'allow' | 'deny'> = new Map([
  ['allowedTools', 'allow'],
  ['enabled_tools', 'allow'],
  ['enabledTools', 'allow'],
  ['includeTools', 'allow'],
  ['disabled_tools', 'deny'],
  ['disabledTools', 'deny'],
  ['excludeTools', 'deny'],
]);

export const TIMEOUTS: ReadonlyMap<
  string,
  { readonly key: 'start' | 'request'; readonly unit: 'ms' | 's' }
> = new Map([
  ['startup_timeout_ms', { key: 'start', unit: 'ms' }],
  ['startup_timeout_sec', { key: 'start', unit: 's' }],
  ['tool_timeout_sec', { key: 'request', unit: 's' }],
]);

/** Whether a key is only for the host, so that its value is not even read. */
export function isHostsOwn(key: string): boolean {
  return HOSTS_OWN.has(key);
}

/** Whether a key is one of the gateway's own entries. */
export function isOwnKey(key: string): boolean {
  return Object.hasOwn(serverSchema.shape, key) || Object.hasOwn(remoteServerSchema.shape, key);
}

/** The message about an unknown key. */
export function unknownHostKey(key: string): string {
  const near = closestName(key, KNOWN);
  const advice =
    near === undefined
      ? 'no host that is known writes it, see docs/host-files.md: remove it'
      : `did you mean ${near}?`;
  return `unknown key ${describe(key, false)}: ${advice}`;
}

const KNOWN = [
  ...new Set([
    ...Object.keys(serverSchema.shape),
    ...Object.keys(remoteServerSchema.shape),
    ...HOSTS_OWN,
    ...RENAMED.keys(),
    ...TOOL_LISTS.keys(),
    ...TIMEOUTS.keys(),
    'httpUrl',
    'timeout',
    'type',
  ]),
];
