/**
 * Three people at one gateway: their keys, the `auth:` section that lets them in, and clients of either
 * era that send one of the keys.
 */
import { TestKeys } from './api-keys.ts';
import { LegacySession, type SessionOptions } from './legacy-session.ts';
import { ModernClient } from './modern-client.ts';
import { SseClient } from './sse-client.ts';
import type { GatewayUnderTest } from './use-gateway.ts';
import type { Json } from './wire-message.ts';
import { WsClient } from './ws-client.ts';

/** What every client of these tests can do. */
export const CAPABLE: Json = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** ann, bob and eve, with the rules that say what each may use. */
export class People {
  readonly keys = new TestKeys();
  readonly config: Readonly<Record<string, unknown>>;

  constructor(
    allow: readonly Json[] = [{ servers: ['*'] }],
    more: Json = {},
    config: Readonly<Record<string, unknown>> = {},
  ) {
    for (const name of ['ann', 'bob', 'eve']) this.keys.add(name, { groups: ['people', name] });
    this.config = {
      auth: { keys: { file: this.keys.file }, allow, ...more },
      limits: { failedLoginsPerMinute: 10_000, callsPerPrincipal: 10_000 },
      ...config,
    };
  }

  headers(name: string): Readonly<Record<string, string>> {
    return this.keys.headers(name);
  }

  modern(
    harness: GatewayUnderTest,
    name: string,
    path: string,
    capabilities: Json = CAPABLE,
  ): ModernClient {
    const url = harness.gateway.url + path;
    return harness.track(new ModernClient(url, capabilities, this.headers(name)));
  }

  async legacy(
    harness: GatewayUnderTest,
    name: string,
    path: string,
    options: SessionOptions = { capabilities: CAPABLE },
  ): Promise<LegacySession> {
    const url = harness.gateway.url + path;
    return harness.track(
      await LegacySession.open(url, { ...options, headers: this.headers(name) }),
    );
  }

  async ws(
    harness: GatewayUnderTest,
    name: string,
    path: string,
    options: SessionOptions = { capabilities: CAPABLE },
  ): Promise<WsClient> {
    const url = harness.gateway.url + path;
    const client = harness.track(await WsClient.connect(url, { headers: this.headers(name) }));
    await client.initialize(options);
    return client;
  }

  async sse(harness: GatewayUnderTest, name: string, path: string): Promise<SseClient> {
    const url = harness.gateway.url + path;
    const client = harness.track(await SseClient.open(url, this.headers(name)));
    await client.initialize({ version: '2024-11-05', capabilities: CAPABLE });
    return client;
  }
}
