/**
 * Restarts of the gateway under load, by SIGTERM and by kill -9, with clients of both official SDKs over
 * Streamable HTTP: each goes on with its session, and fails only what was in flight while there was no
 * gateway. `SLUICE_RESTARTS=20` for a long run.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import type { Connect, SdkClient } from './sdk-client.ts';
import { connectV1 } from './sdk-v1.ts';
import { connectV2 } from './sdk-v2.ts';

/** Of each kind. */
const RESTARTS = Number(process.env['SLUICE_RESTARTS'] ?? 1);
const RESTART_MS = 120_000;

const SDKS: readonly (readonly [string, Connect])[] = [
  ['1.x', connectV1],
  ['2.x', connectV2],
];
const PATHS: readonly (readonly [string, string])[] = [
  ['/servers/shared', 'echo'],
  ['/servers/own', 'echo'],
  ['', 'shared__echo'],
];

/** A client that calls without a pause. */
class Caller {
  readonly name: string;
  readonly client: SdkClient;
  readonly #tool: string;
  readonly #isUp: () => boolean;
  /** When calls failed: from their begin to their end. */
  readonly failures: { readonly begun: number; readonly ended: number; readonly why: unknown }[] =
    [];
  calls = 0;
  #isOver = false;
  #loop: Promise<void> | undefined;

  /** @param isUp whether there is a gateway now */
  constructor(name: string, client: SdkClient, tool: string, isUp: () => boolean) {
    this.#isUp = isUp;
    this.name = name;
    this.client = client;
    this.#tool = tool;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#loop;
  }

  async call(): Promise<void> {
    const n = ++this.calls;
    const { text } = await this.client.call(this.#tool, { n });
    if (text !== `{"n":${n}}`) throw new Error(`the answer to call ${n} is ${text}`);
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const begun = performance.now();
      try {
        await this.call();
      } catch (why) {
        this.failures.push({ begun, ended: performance.now(), why });
        // Nobody listens for a while.
        await until(this.#isUp, { timeoutMs: RESTART_MS });
      }
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it(
  `${RESTARTS} restarts by SIGTERM and as many by kill -9 fail only calls in flight`,
  async () => {
    const data = join(tempDir(), 'data');
    const port = await freePort();
    const servers = {
      shared: scriptedServer().config,
      own: scriptedServer({ config: { sharing: 'session' } }).config,
    };
    const start = (): Promise<Gateway> =>
      startGateway({ servers, listen: { port }, config: { data }, ownProcess: true });
    let gateway = await start();
    let isUp = true;
    const callers = await Promise.all(
      SDKS.flatMap(([sdk, connect]) =>
        PATHS.map(async ([path, tool]) => {
          const user = { secret: 's', answersQuestions: false };
          const client = await connect(gateway.url + path, 'streamable-http', user);
          return new Caller(`${sdk} at ${path}`, client, tool, () => isUp);
        }),
      ),
    );
    const outages: { readonly from: number; readonly to: number }[] = [];
    for (const caller of callers) caller.start();
    for (let restart = 0; restart < 2 * RESTARTS; restart++) {
      const known = callers.map(({ calls }) => calls);
      await expect
        .poll(() => callers.every(({ calls }, at) => calls > (known[at] ?? 0) + 3), {
          timeout: RESTART_MS,
        })
        .toBe(true);
      const from = performance.now();
      isUp = false;
      await (restart % 2 === 0 ? gateway.stop() : gateway.kill());
      gateway = await start();
      isUp = true;
      outages.push({ from, to: performance.now() });
    }
    // All of them go on, the last time too.
    for (const caller of callers) await caller.stop();
    for (const caller of callers) await caller.call();
    const samples = await fetchMetrics(gateway.adminUrl);
    expect(metricSum(samples, 'sluice_sessions_taken_up_total')).toBe(callers.length);
    expect(metricSum(samples, 'sluice_sessions')).toBe(callers.length);
    const stray = callers.flatMap(({ name, failures }) =>
      failures
        .filter(({ begun, ended }) => !outages.some(({ from, to }) => begun < to && ended > from))
        .map(({ why }) => `${name}: ${String(why)}`),
    );
    expect(stray).toEqual([]);
    await Promise.all(callers.map(({ client }) => client.close()));
    expect(metricSum(await fetchMetrics(gateway.adminUrl), 'sluice_sessions')).toBe(0);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  },
  (2 * RESTARTS + 2) * RESTART_MS,
);
