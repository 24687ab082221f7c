// Chooses the channel for each kind of server. Only this file knows all kinds.
import type { FindOwner } from '../base/held-bytes.ts';
import { proxyRules } from '../base/proxies.ts';
import { MAX_STALL_MS } from '../base/stalled-socket.ts';
import type { TurnQuota } from '../base/turns.ts';
import { scan } from '../jsonrpc/scan.ts';
import type { Logger } from '../observe/logger.ts';
import type { MessageLine, MessageLog } from '../observe/message-log.ts';
import type { ChannelEvents, ServerChannel } from '../ports/channel.ts';
import type { Principal } from '../ports/principal.ts';
import type { RemoteTarget } from './credentials/options.ts';
import { RemoteAccess } from './credentials/remote-access.ts';
import type { ServerOptions } from './options.ts';
import { RemoteChannel } from './remote-channel.ts';
import type { Environment } from './stdio/environment.ts';
import type { StdioTarget } from './stdio/options.ts';
import type { Program } from './stdio/program.ts';
import { programOf, StdioChannel } from './stdio/stdio-channel.ts';

export interface ChannelParts {
  readonly events: ChannelEvents;
  /** What the messages of the server may cost in one turn of the event loop. */
  readonly quota: TurnQuota;
  readonly logger: Logger;
  /** Counts the bytes that are held for the server. */
  readonly owner: FindOwner;
  /**
   * The principal for the gateway's own requests: the last one seen, among those with equal credentials.
   * Absent or undefined for a shared server.
   */
  readonly principal?: (() => Principal | undefined) | undefined;
}

/**
 * Starts a server and connects to it. Failures are reported by `closed`.
 * @throws GatewayError if the client lacks something that the server is started with
 */
export type OpenChannel = (options: ServerOptions, parts: ChannelParts) => ServerChannel;

/**
 * Makes the function that opens channels.
 * @param environment the gateway's variables: child processes get a part of them, and they name proxies
 * @param known servers whose programs are looked up now, not at their first start
 */
export function channelOpener(
  environment: Environment,
  known: { readonly servers: readonly ServerOptions[]; readonly logger: Logger },
): OpenChannel {
  // All connections of a server share one.
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
      return new RemoteChannel(target, options, { ...parts, access, principal });
    }
    const startedFor = { server: name, principal: principal() };
    // A tool that keeps its server from reading is not stopped before its call would time out.
    const stallMs = Math.max(timeouts.request, MAX_STALL_MS);
    const program = programs.get(target) ?? programOf(target, environment, parts.logger);
    programs.set(target, program);
    return new StdioChannel(
      target,
      { messageBytes: limits.message, stopMs: timeouts.stop, stallMs },
      { ...parts, environment, startedFor, program },
    );
  };
}

/** The same, with channels that log messages (`log.messages`). */
export function logged(open: OpenChannel, log: MessageLog): OpenChannel {
  return (options, parts) => {
    const server = options.name;
    const note = (direction: MessageLine['direction'], bytes: Buffer): void => {
      const { kind, method, idBytes } = scan(bytes, { anyParams: true });
      const id = idBytes?.toString('utf8');
      log.log({ direction, kind, method: method || undefined, id, bytes }, { server });
    };
    const { events } = parts;
    const received = (message: Buffer, about?: number): boolean => {
      note('from_server', message);
      return events.received(message, about);
    };
    const channel = open(options, { ...parts, events: { ...events, received } });
    const send: ServerChannel['send'] = (message, from) => {
      note('to_server', message);
      return channel.send(message, from);
    };
    return {
      get pid() {
        return channel.pid;
      },
      get lastStderrLine() {
        return channel.lastStderrLine;
      },
      get program() {
        return channel.program ?? '';
      },
      get isWritable() {
        return channel.isWritable;
      },
      send,
      close: () => channel.close(),
    } satisfies ServerChannel;
  };
}
