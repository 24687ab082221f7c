// The resolved configuration as YAML with human units, for `sluice check`. Loads back to the same
// configuration, except for what is masked.
import { stringify } from 'yaml';
import type { AuthOptions } from '../auth/options.ts';
import type { ServerOptions } from '../backend/options.ts';
import type { ResourceLimits } from '../backend/stdio/resource-limits.ts';
import { formatByteSize } from '../base/byte-size.ts';
import { formatDuration } from '../base/duration.ts';
import type { LimitOptions } from '../listener/options.ts';
import { MIN_SECRET_PART } from './document.ts';
import type { LoadedConfig } from './load.ts';
import { describeCuration, describeEndpoint } from './report-catalog.ts';

const MASK = '***';

/** Names whose values are masked wherever they come from. */
const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIAL|AUTHORIZATION|COOKIE/i;

/**
 * Writes a configuration.
 *
 * @param loaded what `load` returned
 * @returns YAML text that ends in a newline
 */
export function checkReport(loaded: LoadedConfig): string {
  const { listen, admin, log, audit, processes, state, drainMs, servers } = loaded.config;
  const { sessions, limits, curations, endpoints } = loaded.config;
  const { maxBodyBytes, publicUrl, ...listenRest } = listen;
  const { idleMs, maxAgeMs, ...sessionRest } = sessions;
  const mask = maskOf(loaded.secrets);
  return stringify({
    listen: {
      ...listenRest,
      maxBody: formatByteSize(maxBodyBytes),
      ...(publicUrl === undefined ? {} : { publicUrl: mask(publicUrl) }),
    },
    admin,
    log,
    audit,
    sessions: {
      idle: formatDuration(idleMs),
      maxAge: formatDuration(maxAgeMs),
      ...sessionRest,
    },
    limits: describeLimits(limits),
    processes,
    state: { keys: state.keys.map(() => '***'), ttl: formatDuration(state.ttlMs) },
    drain: formatDuration(drainMs),
    auth: describeAuth(loaded.config.auth, mask),
    servers: Object.fromEntries(
      servers.map((server) => [
        server.name,
        { ...describe(server, mask), ...describeCuration(curations.get(server.name)) },
      ]),
    ),
    endpoints: Object.fromEntries(endpoints.map((one) => [one.path, describeEndpoint(one)])),
  });
}

type Mask = (text: string) => string;

function describeLimits({ heldBytes, bodyBytes, ...rest }: LimitOptions): Record<string, unknown> {
  return {
    ...rest,
    ...(heldBytes === undefined ? {} : { heldBytes: formatByteSize(heldBytes) }),
    ...(bodyBytes === undefined ? {} : { bodyBytes: formatByteSize(bodyBytes) }),
  };
}

function describe(server: ServerOptions, mask: Mask): Record<string, unknown> {
  const { timeouts, limits } = server;
  return {
    ...describeTarget(server, mask),
    sharing: server.sharing,
    replicas: server.replicas,
    start: server.start,
    roots: server.roots.map((root) => ({ ...root, uri: mask(root.uri) })),
    era: server.era,
    timeouts: {
      start: formatDuration(timeouts.startMs),
      request: formatDuration(timeouts.requestMs),
      requestMax: formatDuration(timeouts.requestMaxMs),
      queue: formatDuration(timeouts.queueMs),
      ...(timeouts.idleMs === timeouts.absentMs ? { idle: formatDuration(timeouts.idleMs) } : {}),
      stop: formatDuration(timeouts.stopMs),
    },
    limits: {
      inFlight: limits.inFlight,
      queue: limits.queue,
      message: formatByteSize(limits.messageBytes),
      ...(server.target.kind === 'stdio' ? describeResources(server.target.resources) : {}),
    },
  };
}

function describeResources(resources: ResourceLimits): Record<string, unknown> {
  const { memoryBytes, openFiles, processes, cpuMs, fileBytes } = resources;
  return {
    ...(memoryBytes === undefined ? {} : { memory: formatByteSize(memoryBytes) }),
    ...(openFiles === undefined ? {} : { openFiles }),
    ...(processes === undefined ? {} : { processes }),
    ...(cpuMs === undefined ? {} : { cpu: formatDuration(cpuMs) }),
    ...(fileBytes === undefined ? {} : { fileSize: formatByteSize(fileBytes) }),
  };
}

function describeAuth(auth: AuthOptions | undefined, mask: Mask): unknown {
  if (auth === undefined) return 'none';
  const { keyFile, issuers, keepsTokens: _, ...rest } = auth;
  return {
    ...(keyFile === undefined ? {} : { keys: { file: mask(keyFile) } }),
    issuers: issuers.map(({ maxLifetimeMs, clockSkewMs, ...issuer }) => ({
      ...issuer,
      issuer: mask(issuer.issuer),
      jwksUrl: mask(issuer.jwksUrl),
      maxLifetime: formatDuration(maxLifetimeMs),
      clockSkew: formatDuration(clockSkewMs),
    })),
    ...rest,
  };
}

function describeTarget(server: ServerOptions, mask: Mask): Record<string, unknown> {
  const { target } = server;
  if (target.kind === 'remote') {
    const headers = maskValues(target.headers, mask);
    const { url, transport, allowPrivate, proxy, tls, auth } = target;
    const oauth = auth && {
      ...auth,
      clientId: mask(auth.clientId),
      ...(auth.clientSecret && { clientSecret: MASK }),
    };
    return {
      url: mask(url),
      transport,
      headers,
      allowPrivate,
      ...(proxy === undefined ? {} : { proxy: mask(withoutPassword(proxy)) }),
      tls,
      ...(oauth && { auth: oauth }),
    };
  }
  const { runAs } = target;
  return {
    command: mask(target.command),
    args: maskArguments(target.args, mask),
    env: maskValues(target.env, mask),
    inheritEnv: target.inheritEnv,
    cwd: mask(target.cwd),
    ...(runAs === undefined ? {} : { runAs: { user: runAs.user, group: runAs.group } }),
    wrap: maskArguments(target.wrap, mask),
    protocol: server.protocol,
    framing: target.framing,
  };
}

function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/)?[^@/]*@/i, `$1${MASK}@`);
}

function maskValues(values: Readonly<Record<string, string>>, mask: Mask): Record<string, string> {
  const masked = Object.entries(values).map(([name, value]) => [
    name,
    SECRET_NAME.test(name) ? MASK : mask(value),
  ]);
  return Object.fromEntries(masked);
}

// `--api-key VALUE` and `--api-key=VALUE` are as secret as a variable of that name.
function maskArguments(args: readonly string[], mask: Mask): string[] {
  return args.map((argument, index) => {
    const assigned = /^(-[^=]*=)/.exec(argument)?.[1];
    if (assigned !== undefined && SECRET_NAME.test(assigned)) {
      return `${assigned}${MASK}`;
    }
    const before = args[index - 1];
    const isValue = before !== undefined && /^-[^=]*$/.test(before) && SECRET_NAME.test(before);
    return isValue && !argument.startsWith('-') ? MASK : mask(argument);
  });
}

function maskOf(secrets: ReadonlySet<string>): Mask {
  const parts = [...secrets]
    .filter((secret) => secret.length >= MIN_SECRET_PART)
    .sort((left, right) => right.length - left.length);
  return (text) => {
    if (secrets.has(text)) {
      return MASK;
    }
    return parts.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
  };
}
