// The kinds of server: where it is -> the channel that reaches it. The one place that knows them all.
import type { ServerOptions } from './options.ts';
import { RemoteChannel } from './remote-channel.ts';
import type { ChannelParts, OpenChannel, ServerChannel } from './server-channel.ts';
import type { Environment } from './stdio/environment.ts';
import { StdioChannel } from './stdio/stdio-channel.ts';

/**
 * What opens the channel of any server.
 * @param environment the variables that child processes are given a choice of
 */
export function channelOpener(environment: Environment): OpenChannel {
  return (options, parts) => open(options, { ...parts, environment });
}

function open(
  options: ServerOptions,
  parts: ChannelParts & { environment: Environment },
): ServerChannel {
  const { name, target, limits, timeouts } = options;
  if (target.kind === 'remote') return new RemoteChannel(target, options, parts);
  const { messageBytes } = limits;
  const owner = { server: name, principal: parts.principal?.() };
  return new StdioChannel(target, { messageBytes, stopMs: timeouts.stopMs }, { ...parts, owner });
}
