// The kinds of server: where it is -> the channel that reaches it. The one place that knows them all.
import { proxyRules } from '../base/proxies.ts';
import { MAX_STALL_MS } from '../base/stalled-socket.ts';
import type { Logger } from '../observe/logger.ts';
import { RemoteAccess } from './credentials/remote-access.ts';
import type { ServerOptions } from './options.ts';
import { RemoteChannel } from './remote-channel.ts';
import type { OpenChannel } from './server-channel.ts';
import type { Environment } from './stdio/environment.ts';
import type { StdioTarget } from './stdio/options.ts';
import type { Program } from './stdio/program.ts';
import { programOf, StdioChannel } from './stdio/stdio-channel.ts';
import type { RemoteTarget } from './streamable-http/options.ts';

/**
 * What opens the channel of any server.
 * @param environment the variables that child processes are given a choice of, and that name proxies
 * @param known servers whose programs are looked up now, not at their first start
 */
export function channelOpener(
  environment: Environment,
  known: { readonly servers: readonly ServerOptions[]; readonly logger: Logger },
): OpenChannel {
  // One for all connections of a server, in turn and at once.
  const proxies = proxyRules(environment);
  const accesses = new WeakMap<RemoteTarget, RemoteAccess>();
  const programs = new WeakMap<StdioTarget, Program>();
  for (const { name, target } of known.servers) {
    if (target.kind !== 'stdio') continue;
    programs.set(target, programOf(target, environment, known.logger.child({ server: name })));
  }
  return (options, parts) => {
    const { name, target, limits, timeouts } = options;
    const principal = parts.principal ?? (() => undefined);
    if (target.kind === 'remote') {
      const access = accesses.get(target) ?? new RemoteAccess(target, parts.logger, { proxies });
      accesses.set(target, access);
      return new RemoteChannel(target, options, { ...parts, access: access.of(principal) });
    }
    const startedFor = { server: name, principal: principal() };
    // A tool that keeps its server from reading is not cut off before its call would be.
    const stallMs = Math.max(timeouts.request, MAX_STALL_MS);
    const program = programs.get(target) ?? programOf(target, environment, parts.logger);
    return new StdioChannel(
      target,
      { messageBytes: limits.message, stopMs: timeouts.stop, stallMs },
      { ...parts, environment, startedFor, program },
    );
  };
}
