// The kinds of server: where it is -> the channel that reaches it. The one place that knows them all.
import { RemoteAccess } from './credentials/remote-access.ts';
import { RemoteChannel } from './remote-channel.ts';
import type { OpenChannel } from './server-channel.ts';
import type { Environment } from './stdio/environment.ts';
import { StdioChannel } from './stdio/stdio-channel.ts';
import type { RemoteTarget } from './streamable-http/options.ts';

/**
 * What opens the channel of any server.
 * @param environment the variables that child processes are given a choice of
 */
export function channelOpener(environment: Environment): OpenChannel {
  // One for all connections of a server, in turn and at once.
  const accesses = new WeakMap<RemoteTarget, RemoteAccess>();
  return (options, parts) => {
    const { name, target, limits, timeouts } = options;
    const principal = parts.principal ?? (() => undefined);
    if (target.kind === 'remote') {
      const access = accesses.get(target) ?? new RemoteAccess(target, parts.logger);
      accesses.set(target, access);
      return new RemoteChannel(target, options, { ...parts, access: access.of(principal) });
    }
    const owner = { server: name, principal: principal() };
    const { messageBytes } = limits;
    const { stopMs } = timeouts;
    return new StdioChannel(target, { messageBytes, stopMs }, { ...parts, environment, owner });
  };
}
