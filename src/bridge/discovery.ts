// What a legacy server said in `initialize`, as a modern client asks for it with `server/discover`
// (protocol.md 5.1).

import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { META } from '../mcp/meta.ts';
import { MODERN_VERSION } from '../mcp/versions.ts';
import type { ServerIdentity } from '../ports/seat.ts';

const KEPT = [
  'tools',
  'prompts',
  'resources',
  'completions',
  'logging',
  'experimental',
  'extensions',
] as const;

/** The server's name for clients: what it said, or its name in the configuration. */
export function serverInfoOf(identity: ServerIdentity | undefined, server: string): unknown {
  const { serverInfo } = identity?.initializeResult ?? {};
  return isObject(serverInfo) ? serverInfo : { name: server, version: '0' };
}

/** What a modern client may use of a legacy server. */
export function modernCapabilities(capabilities: JsonObject): JsonObject {
  const kept = KEPT.filter((kind) => capabilities[kind] !== undefined);
  return Object.fromEntries(kept.map((kind) => [kind, capabilities[kind]]));
}

/** The result of `server/discover`. */
export function discoverResult(identity: ServerIdentity, server: string): Buffer {
  const { instructions } = identity.initializeResult;
  return jsonBytes({
    resultType: 'complete',
    supportedVersions: [MODERN_VERSION],
    capabilities: modernCapabilities(identity.capabilities),
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: serverInfoOf(identity, server) },
  });
}
