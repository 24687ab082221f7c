/** What tests of reloads have in common: one gateway for a test, and clients that are closed with it. */
import { afterEach, expect } from 'vitest';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
import { LegacySession, type SessionOptions } from './legacy-session.ts';
import { assertTablesEmpty, fetchMetrics, metricSum } from './metrics.ts';
import type { ScriptedServer } from './scripted-server.ts';
import { textOf } from './wire-message.ts';

export class Reloading {
  #gateway: Gateway | undefined;
  readonly #open: { close(): Promise<void> }[] = [];

  get gateway(): Gateway {
    if (this.#gateway === undefined) throw new Error('the gateway is not started yet');
    return this.#gateway;
  }

  async start(options: GatewayOptions): Promise<Gateway> {
    this.#gateway = await startGateway(options);
    return this.#gateway;
  }

  async session(url: string, options: SessionOptions = {}): Promise<LegacySession> {
    const opened = await LegacySession.open(url, options);
    this.#open.push(opened);
    return opened;
  }

  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return metricSum(await fetchMetrics(this.gateway.adminUrl), name, labels);
  }

  async end(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((one) => one.close()));
    const gateway = this.#gateway;
    if (gateway === undefined) return;
    this.#gateway = undefined;
    await assertTablesEmpty(gateway);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  }
}

/** Registers what ends it after each test. */
export function useReloading(): Reloading {
  const reloading = new Reloading();
  afterEach(() => reloading.end());
  return reloading;
}

/** The `servers:` of a configuration. */
export function serversOf(
  all: Readonly<Record<string, Pick<ScriptedServer, 'config'>>>,
): GatewayOptions['servers'] {
  return Object.fromEntries(Object.entries(all).map(([name, { config }]) => [name, config]));
}

/** The same server with another environment, so that it needs another process. */
export function changed({ config, journal }: ScriptedServer, what = 'changed'): ScriptedServer {
  const env = { ...(config['env'] as Record<string, string> | undefined), CHANGE: what };
  return { config: { ...config, env }, journal };
}

/** Whether a tool that says what it is told does so. */
export async function echo(client: LegacySession, tool = 'echo'): Promise<boolean> {
  return textOf(await client.call(tool, { v: 'said' })) === '{"v":"said"}';
}

export async function toolNames(client: LegacySession): Promise<string[]> {
  const { result } = await client.request('tools/list');
  const tools = (result?.['tools'] ?? []) as { name: string }[];
  return tools.map(({ name }) => name);
}
