/**
 * One gateway for a whole test file: started before its tests, stopped after them. After each test every
 * session that it opened is closed and the gateway's tables must be empty; at the end it must exit with 0
 * and leave no process.
 */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { ChannelClient } from './channel-client.ts';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
import { LegacySession, type SessionOptions } from './legacy-session.ts';
import { assertTablesEmpty } from './metrics.ts';
import { type Journal, type ScriptedServer, scriptedServer } from './scripted-server.ts';
import { SseClient } from './sse-client.ts';
import { WsClient, type WsOptions } from './ws-client.ts';

export class GatewayUnderTest {
  readonly #options: () => GatewayOptions;
  readonly #open: { close(): Promise<void> }[] = [];
  #gateway: Gateway | undefined;

  constructor(options: () => GatewayOptions) {
    this.#options = options;
  }

  get gateway(): Gateway {
    if (!this.#gateway) throw new Error('the gateway is not started yet');
    return this.#gateway;
  }

  /** The Streamable HTTP endpoint of `server`. */
  url(server = 'one'): string {
    return this.gateway.endpoint(server);
  }

  /** Opens a session over Streamable HTTP; it is closed after the test. */
  async session(
    options: SessionOptions & { readonly server?: string } = {},
  ): Promise<LegacySession> {
    return this.track(await LegacySession.open(this.url(options.server), options));
  }

  /** Opens a WebSocket with an initialised session on it. */
  async webSocket(options: SessionOptions = {}, ws: WsOptions = {}): Promise<WsClient> {
    const client = this.track(await WsClient.connect(this.gateway.endpoint('one', 'ws'), ws));
    await client.initialize(options);
    return client;
  }

  /** Opens an HTTP+SSE stream with an initialised session on it. */
  async sse(options: SessionOptions = { version: '2024-11-05' }): Promise<SseClient> {
    const client = this.track(await SseClient.open(this.gateway.endpoint('one', 'sse')));
    await client.initialize(options);
    return client;
  }

  /** A client of each of the three transports, by name. */
  async channels(): Promise<Record<'ws' | 'sse', ChannelClient>> {
    return { ws: await this.webSocket(), sse: await this.sse() };
  }

  /** Has `item` closed after the test. */
  track<T extends { close(): Promise<void> }>(item: T): T {
    this.#open.push(item);
    return item;
  }

  async start(): Promise<void> {
    this.#gateway = await startGateway(this.#options());
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((item) => item.close()));
  }

  async stop(): Promise<void> {
    const gateway = this.#gateway;
    this.#gateway = undefined;
    if (!gateway) return;
    const result = await gateway.stop();
    expect(result).toEqual({ code: 0, signal: null });
    expect(gateway.stdout).toBe('');
  }
}

/** Registers the hooks in the current file or `describe`. `options` is called when the start is due. */
export function useGateway(options: () => GatewayOptions): GatewayUnderTest {
  const harness = new GatewayUnderTest(options);
  beforeAll(() => harness.start());
  afterEach(async () => {
    await harness.closeAll();
    if (harness.gateway.isRunning) await assertTablesEmpty(harness.gateway);
  });
  afterAll(() => harness.stop());
  return harness;
}

/** The same with one scripted server called `one`. */
export function useScripted(
  server: ScriptedServer = scriptedServer(),
  options: Omit<GatewayOptions, 'servers'> = {},
): { readonly harness: GatewayUnderTest; readonly journal: Journal } {
  const harness = useGateway(() => ({ ...options, servers: { one: server.config } }));
  return { harness, journal: server.journal };
}
