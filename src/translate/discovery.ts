// The handshake of a legacy server as an answer to a modern client's `server/discover`
// (docs/protocol.md#handshake-across-eras).

import { isObject, type JsonObject } from '../jsonrpc/parse.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { withoutTasksExtension } from '../mcp/capabilities.ts';
import { META } from '../mcp/meta.ts';
import { MODERN_VERSION } from '../mcp/versions.ts';
import type { ServerIdentity } from '../ports/lease.ts';
import { takesToolTasks, withTasksExtension } from './tasks/task-support.ts';

const KEPT = [
  'tools',
  'prompts',
  'resources',
  'completions',
  'logging',
  'experimental',
  'extensions',
] as const;

/** The server's name for clients: its own, or the configured one. */
export function serverInfoOf(identity: ServerIdentity | undefined, server: string): unknown {
  const handshakeResult = identity?.handshakeResult ?? {};
  const { serverInfo, _meta: meta } = handshakeResult;
  if (isObject(serverInfo)) return serverInfo;
  const modern = isObject(meta) ? meta[META.serverInfo] : undefined;
  return isObject(modern) ? modern : { name: server, version: '0' };
}

/** The capabilities of a server for modern clients. */
export function modernCapabilities(identity: ServerIdentity): JsonObject {
  // `tasks` is legacy; for modern clients it is an extension.
  const { tasks: _, ...capabilities } = identity.capabilities;
  if (identity.era === 'modern') return capabilities;
  const kept = KEPT.filter((kind) => capabilities[kind] !== undefined);
  const own = Object.fromEntries(kept.map((kind) => [kind, capabilities[kind]]));
  return takesToolTasks(identity) ? withTasksExtension(own) : own;
}

/** The result of `server/discover`. */
export function discoverResult(identity: ServerIdentity, server: string): Buffer {
  const { instructions } = identity.handshakeResult;
  return jsonBytes({
    resultType: 'complete',
    supportedVersions: [MODERN_VERSION],
    capabilities: modernCapabilities(identity),
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: serverInfoOf(identity, server) },
  });
}

/** What a server of either era says about itself to a legacy client; the version is set later. */
export function initializeResult(identity: ServerIdentity, server: string): JsonObject {
  if (identity.era === 'legacy') return identity.handshakeResult;
  const { instructions } = identity.handshakeResult;
  const { extensions, ...capabilities } = identity.capabilities;
  return {
    capabilities: isObject(extensions)
      ? { ...capabilities, extensions: withoutTasksExtension(extensions) }
      : capabilities,
    serverInfo: serverInfoOf(identity, server),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}
