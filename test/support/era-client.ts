/**
 * The same requests by a client of either era, and lists read to their end.
 */
import { LegacySession, type SessionOptions } from './legacy-session.ts';
import { ModernClient } from './modern-client.ts';
import type { GatewayUnderTest } from './use-gateway.ts';
import type { Json } from './wire-message.ts';

export type Era = 'legacy' | 'modern';
export const ERAS: readonly Era[] = ['legacy', 'modern'];
export type EraClient = LegacySession | ModernClient;

/** A session at a path of the gateway; it is closed after the test. */
export async function sessionAt(
  harness: GatewayUnderTest,
  path: string,
  options: SessionOptions = {},
): Promise<LegacySession> {
  return harness.track(await LegacySession.open(harness.gateway.url + path, options));
}

/** A client of the stateless era at a path of the gateway; it is closed after the test. */
export function modernAt(
  harness: GatewayUnderTest,
  path: string,
  capabilities: Json = {},
): ModernClient {
  return harness.track(new ModernClient(harness.gateway.url + path, capabilities));
}

/** A client of one of the eras. */
export async function clientAt(
  harness: GatewayUnderTest,
  path: string,
  era: Era,
  capabilities: Json = {},
): Promise<EraClient> {
  return era === 'legacy'
    ? await sessionAt(harness, path, { capabilities })
    : modernAt(harness, path, capabilities);
}

/** A list, page by page. @throws Error when a page is refused, or there is no end */
export async function pagesOf(
  client: EraClient,
  method: string,
  member: string,
): Promise<Json[][]> {
  const pages: Json[][] = [];
  let cursor: unknown;
  for (let number = 0; number < 100; number++) {
    const answer = await client.request(method, cursor === undefined ? {} : { cursor });
    const entries = answer.result?.[member];
    if (!Array.isArray(entries)) throw new Error(`no list: ${answer.raw}`);
    pages.push(entries as Json[]);
    cursor = answer.result?.['nextCursor'];
    if (cursor === undefined) return pages;
  }
  throw new Error(`${method} does not end`);
}

/** The names of all tools. */
export async function toolNames(client: EraClient): Promise<string[]> {
  const pages = await pagesOf(client, 'tools/list', 'tools');
  return pages.flat().map(({ name }) => String(name));
}
