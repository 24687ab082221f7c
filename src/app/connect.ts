// `sluice connect`: a stdio server for a remote endpoint. It has one client, one server and no listener. The
// other parts are those of a gateway, so both eras work on both sides.

import type { Readable, Writable } from 'node:stream';
import { ANONYMOUS } from '../auth/anonymous.ts';
import { within } from '../base/clock.ts';
import { drained } from '../base/drain.ts';
import { EXIT } from '../base/exit-codes.ts';
import { AllLists } from '../catalog/all-lists.ts';
import type { Config } from '../config/config.ts';
import { StdioConnection } from '../listener/stdio/serve.ts';
import { createLogger } from '../observe/logger.ts';
import { NO_METRICS } from '../observe/no-metrics.ts';
import { DirectEndpoint } from '../router/direct-endpoint.ts';
import { MessageChannel } from '../session/message-channel.ts';
import { ModernRequests } from '../session/modern-requests.ts';
import { ServedEndpoint } from '../session/served-endpoint.ts';
import { SessionStore } from '../session/session-store.ts';
import { createModernState } from '../translate/modern-dispatcher.ts';
import { ServerBackend } from '../upstream/backend.ts';
import type { OpenChannel } from '../upstream/kinds.ts';
import { channelOpener } from '../upstream/kinds.ts';
import type { ServerOptions } from '../upstream/options.ts';
import { ProcessBudget } from '../upstream/process-budget.ts';
import type { Environment } from '../upstream/stdio/environment.ts';
import { watchIdleMemory } from './idle-memory.ts';
import { untilStopped } from './stop.ts';

const CLOSE_LIMIT_MS = 5_000;
/** How a channel reports that it never worked, and whether a retry can help. */
const NEVER_UP = /^(cannot_start|refused): (.*)$/s;

/** What `connect` gets in addition to its configuration. */
export interface ConnectOptions {
  readonly version: string;
  /** Of the process: it names the proxies. */
  readonly environment: Environment;
  /** The client's messages. */
  readonly input: Readable;
  /** Messages to the client, and nothing else. */
  readonly output: Writable;
  /** Shows a line to the user. */
  readonly tell: (line: string) => void;
}

/**
 * Serves one client until its input ends and all answers are sent, or until it is stopped.
 * @param config with exactly one server
 * @returns the exit status
 */
export async function runConnect(config: Config, options: ConnectOptions): Promise<number> {
  const [server] = config.servers;
  if (server === undefined) throw new RangeError('there is no server to connect to');
  const logger = createLogger(config.log);
  const reach: Reach = { isTried: false, isDone: false };
  // The user knows the server only by its URL.
  const named = { ...server, name: placeOf(server.target) };
  const backend = new ServerBackend(named, {
    budget: new ProcessBudget(config.processes),
    logger,
    metrics: NO_METRICS,
    openChannel: complaining(
      channelOpener(options.environment, { servers: [], logger }),
      reach,
      options.tell,
    ),
    gatewayVersion: options.version,
    common: { sessionIdleMs: config.sessions.idle, exposesDetails: true },
    isTriedOnDemand: true,
  });
  const modern = new ModernRequests();
  const sessions = new SessionStore(config.sessions);
  const state = createModernState(config.state, new AllLists(logger));
  const served = new ServedEndpoint(new DirectEndpoint('/', backend, state), NO_METRICS);
  const connection = new StdioConnection(options.input, options.output);
  const channel = new MessageChannel({
    transportName: 'stdio',
    transport: connection,
    served,
    principal: ANONYMOUS,
    sessions,
    modern,
  });
  const stopped = untilStopped(false);
  const memory = watchIdleMemory();
  await Promise.race([connection.serve(channel, server.limits.message), stopped.reason]);
  channel.closeInput();
  state.listens.end();
  let isStopped = false;
  void stopped.reason.then(() => {
    isStopped = true;
  });
  const isBusy = (): boolean => !isStopped && !connection.isEnded && channel.pending > 0;
  await drained(isBusy, config.drain);
  stopped.isStopping = true;
  // The server first, so that open calls get their error before the channel ends.
  await within(CLOSE_LIMIT_MS, backend.close('draining'));
  channel.close();
  state.suspendedCalls.close();
  state.tasks.table.close();
  sessions.close();
  memory?.close();
  if (stopped.isBroken) return EXIT.internal;
  if (reach.isDone || !reach.isTried) return EXIT.ok;
  options.tell(`${placeOf(server.target)}: it did not answer like an MCP server`);
  return EXIT.failure;
}

/** Whether the server was ever reached. */
interface Reach {
  isTried: boolean;
  isDone: boolean;
}

/** Tells the user why the server can't be used, once for each reason. */
function complaining(open: OpenChannel, reach: Reach, tell: ConnectOptions['tell']): OpenChannel {
  const told = new Set<string>();
  return (options, parts) => {
    const { target } = options;
    const complain = (reason: string): void => {
      const [, kind, why] = NEVER_UP.exec(reason) ?? [];
      if (why === undefined || told.has(reason)) return;
      told.add(reason);
      tell(`${placeOf(target)}: ${why}${kind === 'refused' ? '' : ' Trying again.'}`);
    };
    const closed = (reason: string, notTaken?: ReadonlySet<number>): void => {
      complain(reason);
      parts.events.closed(reason, notTaken);
    };
    const received = (message: Buffer, about?: number): boolean => {
      reach.isDone = true;
      return parts.events.received(message, about);
    };
    reach.isTried = true;
    return open(options, { ...parts, events: { ...parts.events, closed, received } });
  };
}

/** Without parts of the URL that may be secret. */
function placeOf(target: ServerOptions['target']): string {
  if (target.kind !== 'remote') return target.command;
  const { origin, pathname } = new URL(target.url);
  return `${origin}${pathname}`;
}
