// A backend whose server does in each of its lives what a script says.
import { createLogger } from '../../../src/observe/logger.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import { ServerBackend } from '../../../src/upstream/backend.ts';
import type { ServerOptions } from '../../../src/upstream/options.ts';
import { ProcessBudget } from '../../../src/upstream/process-budget.ts';

/** What a server does with a request; text: the members of its answer. */
export type Life = (method: string) => string | 'exit' | undefined;

/** A server that can't even be tried. */
export const NO_LIFE: Life = () => undefined;

const OPTIONS: ServerOptions = {
  name: 's',
  protocol: 'mcp',
  target: {
    kind: 'stdio',
    framing: 'newline',
    command: 's',
    args: [],
    env: {},
    envTemplates: {},
    inheritEnv: [],
    cwd: '/',
    runAs: undefined,
    wrap: [],
    resources: {},
  },
  sharing: 'shared',
  replicas: 1,
  start: 'eager',
  roots: [],
  era: 'auto',
  timeouts: {
    start: 30_000,
    request: 60_000,
    requestMax: 120_000,
    queue: 60_000,
    stop: 1_000,
  },
  limits: { inFlight: 6, queue: 64, message: 1_000_000 },
};

/**
 * A backend over scripted lives.
 * @param lives in the order they begin; after the last one it is the last one again
 */
export function scriptedLives(lives: readonly Life[], changes: Partial<ServerOptions> = {}) {
  const asked: string[][] = [];
  const backend = new ServerBackend(
    { ...OPTIONS, ...changes },
    {
      budget: new ProcessBudget({ max: 64, maxPerPrincipal: 8, maxStarting: 4 }),
      logger: createLogger({ level: 'fatal', messages: false }),
      metrics: new Metrics({ version: '0', node: '0' }),
      gatewayVersion: '0',
      common: { sessionIdleMs: 600_000, exposesDetails: true },
      openChannel: (_, { events }) => {
        const live = lives[Math.min(asked.length, lives.length - 1)];
        const methods: string[] = [];
        asked.push(methods);
        if (live === NO_LIFE) throw new Error('spawn E2BIG');
        return {
          isWritable: true,
          pid: asked.length,
          lastStderrLine: '',
          close: () => Promise.resolve(),
          send: (message) => {
            const { id, method } = JSON.parse(message.toString());
            methods.push(method);
            const does = live?.(method);
            if (does === undefined || id === undefined) return true;
            queueMicrotask(() => {
              if (does === 'exit') events.closed('exit_1');
              else events.received(Buffer.from(`{"jsonrpc":"2.0","id":${id},${does}}`));
            });
            return true;
          },
        };
      },
    },
  );
  return { backend, asked };
}
