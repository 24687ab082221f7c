// `sluice connect`: a stdio server over a remote endpoint. One client, one server, no listener; the
// same rooms as in a gateway, so both eras work on both sides.
import type { Readable, Writable } from 'node:stream';
import { ANONYMOUS } from '../auth/anonymous.ts';
import { ServerBackend } from '../backend/backend.ts';
import { channelOpener } from '../backend/kinds.ts';
import { ProcessBudget } from '../backend/process-budget.ts';
import { within } from '../base/clock.ts';
import { createModernState } from '../bridge/modern-gate.ts';
import type { Config } from '../config/config.ts';
import { servedEndpoint } from '../listener/context.ts';
import { StdioConnection } from '../listener/stdio/serve.ts';
import { createLogger } from '../observe/logger.ts';
import { Metrics } from '../observe/metrics.ts';
import { DirectEndpoint } from '../router/direct-endpoint.ts';
import { MessageChannel } from '../session/message-channel.ts';
import { ModernRequests } from '../session/modern-requests.ts';
import { SessionStore } from '../session/session-store.ts';
import { untilStopped } from './run.ts';

const OK = 0;
const INTERNAL = 70;
const CLOSE_LIMIT_MS = 5_000;

/** What the bridge is given besides its configuration. */
export interface ConnectOptions {
  readonly version: string;
  /** The client's messages. */
  readonly input: Readable;
  /** Messages to the client, and nothing else. */
  readonly output: Writable;
}

/**
 * Serves one client until its input ends, or until it is told to stop.
 * @param config with exactly one server
 * @returns the exit status
 */
export async function runConnect(config: Config, options: ConnectOptions): Promise<number> {
  const [server] = config.servers;
  if (server === undefined) throw new RangeError('there is no server to connect to');
  const logger = createLogger(config.log);
  const metrics = new Metrics({ version: options.version, node: process.version });
  const backend = new ServerBackend(server, {
    budget: new ProcessBudget(config.processes),
    logger,
    metrics,
    openChannel: channelOpener({}),
    gatewayVersion: options.version,
  });
  const modern = new ModernRequests();
  const sessions = new SessionStore(config.sessions);
  const state = createModernState(config.state);
  const { endpoint, meter } = servedEndpoint(new DirectEndpoint('/', backend, state), metrics);
  const connection = new StdioConnection(options.input, options.output);
  const channel = new MessageChannel({
    transportName: 'stdio',
    transport: connection,
    endpoint,
    principal: ANONYMOUS,
    meter,
    sessions,
    modern,
    isDraining: () => false,
  });
  const stopped = untilStopped(false);
  const { messageBytes } = server.limits;
  await Promise.race([connection.serve(channel, messageBytes), stopped.reason]);
  stopped.isStopping = true;
  channel.close();
  state.parks.close();
  sessions.close();
  await within(CLOSE_LIMIT_MS, backend.close('draining'));
  return stopped.isBroken ? INTERNAL : OK;
}
