// Starts servers only to list their tools, as the gateway itself sees them: with its own name, and with the
// capabilities that it declares to a shared server. All servers are stopped afterwards.
import { ANONYMOUS } from '../auth/anonymous.ts';
import { within } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { lastMember } from '../jsonrpc/members.ts';
import { parseResult, splitArray } from '../jsonrpc/parse.ts';
import { UNASKABLE } from '../mcp/errors.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import { NEWEST_LEGACY } from '../mcp/versions.ts';
import { createLogger } from '../observe/logger.ts';
import { NO_METRICS } from '../observe/no-metrics.ts';
import type { Lease } from '../ports/lease.ts';
import { SilentClient } from '../ports/silent-client.ts';
import { ServerBackend } from '../upstream/backend.ts';
import { channelOpener } from '../upstream/kinds.ts';
import type { ServerOptions } from '../upstream/options.ts';
import { ProcessBudget } from '../upstream/process-budget.ts';
import type { Environment } from '../upstream/stdio/environment.ts';

const MAX_PAGES = 256;
const CLOSE_LIMIT_MS = 15_000;

/** The tools of one server, or why they can't be listed. */
export type Survey = { readonly server: string } & (
  | { readonly tools: readonly Buffer[] }
  | { readonly failure: string }
);

const NOBODY = new SilentClient(
  ANONYMOUS,
  { version: NEWEST_LEGACY, capabilities: {}, info: undefined },
  UNASKABLE.nobody,
);

/**
 * Lists the tools of servers, all at the same time.
 * @param config for logging, and for how many may start at the same time
 * @param interrupted resolves when the user has stopped it
 * @returns one survey for each MCP server, in their order; undefined when interrupted
 */
export async function surveyTools(
  config: Config,
  servers: readonly ServerOptions[],
  parts: {
    readonly version: string;
    readonly environment: Environment;
    readonly interrupted: Promise<unknown>;
  },
): Promise<readonly Survey[] | undefined> {
  const logger = createLogger({ ...config.log, level: 'error' });
  const shared = {
    budget: new ProcessBudget(config.processes),
    logger,
    metrics: NO_METRICS,
    openChannel: channelOpener(parts.environment, { servers, logger }),
    gatewayVersion: parts.version,
    common: { sessionIdleMs: config.sessions.idle, exposesDetails: true },
  };
  const backends = servers
    .filter(({ protocol }) => protocol === 'mcp')
    .map((server) => {
      const alone = { sharing: 'shared', replicas: 1, start: 'lazy' } as const;
      return new ServerBackend({ ...server, ...alone }, shared);
    });
  try {
    return await Promise.race([
      Promise.all(backends.map(survey)),
      parts.interrupted.then(() => undefined),
    ]);
  } finally {
    const closing = Promise.all(backends.map((backend) => backend.close('draining')));
    await within(CLOSE_LIMIT_MS, closing);
  }
}

async function survey(backend: ServerBackend): Promise<Survey> {
  const server = backend.name;
  const lease = backend.acquire(NOBODY);
  try {
    await lease.ready();
    return { server, tools: await toolsOf(lease) };
  } catch (error) {
    return { server, failure: messageOf(error) };
  } finally {
    lease.leave();
  }
}

async function toolsOf(lease: Lease): Promise<readonly Buffer[]> {
  if (lease.identity?.capabilities['tools'] === undefined) return [];
  const tools: Buffer[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await lease.list(TOOLS_LIST, cursor);
    const result = answer && parseResult(answer);
    if (answer === undefined || result === undefined)
      throw new Error('it did not send its list of tools');
    const list = lastMember(answer.bytes, answer.resultStart, answer.resultEnd, 'tools');
    if (list === undefined) throw new Error('it did not send its list of tools');
    // Copied, because views would keep the whole message in memory.
    const entries = splitArray(answer.bytes.subarray(list.valueStart, list.valueEnd));
    tools.push(...entries.map((entry) => Buffer.from(entry)));
    const { nextCursor } = result;
    if (typeof nextCursor !== 'string') return tools;
    cursor = nextCursor;
  }
  throw new Error('its list of tools never ends');
}
