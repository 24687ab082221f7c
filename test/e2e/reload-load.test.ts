/**
 * Reloads under load, with official SDK clients: other servers come, change and go, and no call of a server
 * that stays fails or is answered twice; afterwards nothing is left of those that went. `RELOADS=200` is the
 * long form.
 */
import { afterEach, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { rewriteConfiguration } from '../support/gateway-options.ts';
import { send } from '../support/http-client.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { serverProcesses } from '../support/processes.ts';
import { changed, serversOf } from '../support/reloading.ts';
import { type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import type { SdkClient } from './sdk-client.ts';
import { connectV1 } from './sdk-v1.ts';
import { connectV2 } from './sdk-v2.ts';

const RELOADS = Number(process.env['RELOADS'] ?? 20);
const USER = { secret: 'none' };
const LIMIT_MS = 60_000 + RELOADS * 5_000;
/** Calls that each client has in flight. */
const AT_ONCE = 2;

/** Calls without a pause until it is told to stop. */
class Caller {
  readonly client: SdkClient;
  readonly failures: unknown[] = [];
  done = 0;
  #isOver = false;
  readonly #loops: Promise<void>[];

  constructor(client: SdkClient, tool: string) {
    this.client = client;
    this.#loops = Array.from({ length: AT_ONCE }, (_, at) => this.#loop(tool, at));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  async #loop(tool: string, at: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      const v = `${at}-${count}`;
      try {
        const { text } = await this.client.call(tool, { v });
        if (text !== JSON.stringify({ v })) this.failures.push(text);
      } catch (error) {
        this.failures.push(error);
        return;
      }
      this.done++;
    }
  }
}

let started: Gateway | undefined;
afterEach(async () => {
  if (started?.isRunning === true) await started.kill();
});

it(
  `${RELOADS} reloads disturb no call of a server that stays`,
  async () => {
    const stays = scriptedServer();
    const own = scriptedServer({ config: { sharing: 'session' } });
    const config = { reload: { watch: false } };
    const withOthers = (others: Readonly<Record<string, ScriptedServer>>) => ({
      servers: serversOf({ stays, own, ...others }),
      config,
      log: { level: 'info' },
      ownProcess: true,
    });
    const first = scriptedServer();
    const gateway = await startGateway(withOthers({ other: first }));
    started = gateway;
    const reload = async (others: Readonly<Record<string, ScriptedServer>>): Promise<number> => {
      rewriteConfiguration(gateway.folder, withOthers(others));
      const headers = { 'content-type': 'application/json' };
      return (await send(`${gateway.adminUrl}/reload`, { method: 'POST', headers, body: '' }))
        .status;
    };
    const callers = [
      new Caller(await connectV1(`${gateway.url}/servers/stays`, 'streamable-http', USER), 'echo'),
      new Caller(await connectV1(`${gateway.url}/servers/stays`, 'websocket', USER), 'echo'),
      new Caller(await connectV1(gateway.url, 'sse', USER), 'stays__echo'),
      new Caller(await connectV2(gateway.url, 'streamable-http', USER), 'stays__echo'),
      new Caller(await connectV2(gateway.url, 'streamable-http', USER), 'own__echo'),
      new Caller(await connectV2(gateway.url, 'streamable-http', USER, 'modern'), 'stays__echo'),
    ];
    const processes = (): number => serverProcesses(gateway.pid).length;
    const before = processes();
    const starts = own.journal.starts.length;

    const statuses = new Set<number>();
    for (let round = 0; round < RELOADS; round++) {
      const more = round % 2 === 0 ? { [`more-${round}`]: scriptedServer() } : {};
      statuses.add(await reload({ other: changed(first, String(round)), ...more }));
    }
    statuses.add(await reload({ other: first }));
    await Promise.all(callers.map((caller) => caller.stop()));

    expect([...statuses]).toEqual([200]);
    expect(callers.flatMap(({ failures }) => failures)).toEqual([]);
    for (const { client } of callers) expect(client.unasked).toEqual([]);
    for (const { done } of callers) expect(done).toBeGreaterThan(RELOADS);
    // Each session has the process that it had, and nobody else's went.
    expect(own.journal.starts).toHaveLength(starts);
    expect(stays.journal.starts).toHaveLength(1);
    await until(() => processes() === before);
    await Promise.all(callers.map(({ client }) => client.close()));
    const ok = { outcome: 'ok' };
    const samples = await fetchMetrics(gateway.adminUrl);
    expect(metricSum(samples, 'sluice_config_reloads_total', ok)).toBe(RELOADS + 1);
    await until(async () => {
      const left = await fetchMetrics(gateway.adminUrl);
      return !left.some(({ labels }) => labels['server']?.startsWith('more-'));
    });
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  },
  LIMIT_MS,
);
