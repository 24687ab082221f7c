// The `endpoints` of the configuration: their paths, and the servers that each merges.

import type { EndpointEntry, EndpointOptions } from '../catalog/endpoint-options.ts';
import type { ServerOptions } from '../upstream/options.ts';
import { closestName } from './closest-name.ts';
import type { Findings } from './issues.ts';

/** A path, or `/` for the default endpoint. */
const PATH = /^(\/|(\/[A-Za-z0-9][A-Za-z0-9._~-]*)+)$/;
/** Paths that the gateway uses: `/servers/NAME`, and the default paths. */
const TAKEN = /^\/(servers|mcp|sse|messages|ws)(\/|$)/;

/**
 * Checks and resolves the endpoints.
 * @param off names of disabled servers, which endpoints may still name
 */
export function readEndpoints(
  endpoints: Readonly<Record<string, EndpointEntry>>,
  servers: readonly ServerOptions[],
  off: ReadonlySet<string>,
  found: Findings,
): EndpointOptions[] {
  return Object.entries(endpoints).map(([path, given]) => {
    const options = withoutThoseOff(given, off);
    if (!PATH.test(path)) {
      const message = 'must be a path such as /team, or / for the default endpoint';
      found.fault(['endpoints', path], message, 'key');
    } else if (TAKEN.test(path)) {
      const message = 'is served already: must be another path';
      found.fault(['endpoints', path], message, 'key');
    }
    checkServers(path, given.servers, { servers, off }, found);
    checkShape(path, options, servers, found);
    return { path, ...options };
  });
}

function withoutThoseOff(entry: EndpointEntry, off: ReadonlySet<string>): EndpointEntry {
  const { servers, shape } = entry;
  const isOn = (name: string): boolean => !off.has(name);
  return {
    ...entry,
    servers: servers?.filter(isOn),
    shape: shape && Object.fromEntries(Object.entries(shape).filter(([name]) => isOn(name))),
  };
}

function checkServers(
  path: string,
  names: readonly string[] | undefined,
  {
    servers,
    off,
  }: { readonly servers: readonly ServerOptions[]; readonly off: ReadonlySet<string> },
  found: Findings,
): void {
  if (names?.every((name) => off.has(name))) {
    const there = names.length === 0 ? 'is empty' : 'has only disabled servers';
    const message = `${there}: must name at least one server that is enabled`;
    found.fault(['endpoints', path, 'servers'], message);
  }
  const known = servers.map(({ name }) => name);
  for (const [index, name] of (names ?? []).entries()) {
    if (off.has(name)) continue;
    const message = faultOf(name, servers, known, names?.indexOf(name) !== index);
    if (message !== undefined) found.fault(['endpoints', path, 'servers', index], message);
  }
}

/** Options for a server that the endpoint does not show are an error: probably another one was meant. */
function checkShape(
  path: string,
  { shape = {}, servers }: EndpointEntry,
  all: readonly ServerOptions[],
  found: Findings,
): void {
  const shown = servers ?? all.map(({ name }) => name);
  for (const name of Object.keys(shape)) {
    if (shown.includes(name)) continue;
    const message = `is no server of this endpoint: must be one of ${shown.join(', ')}`;
    found.fault(['endpoints', path, 'shape', name], message, 'key');
  }
}

function faultOf(
  name: string,
  servers: readonly ServerOptions[],
  known: readonly string[],
  isRepeated: boolean,
): string | undefined {
  const server = servers.find((one) => one.name === name);
  if (server === undefined) {
    const meant = closestName(name, known);
    return `is no server: must be one of ${known.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
  }
  if (server.protocol === 'jsonrpc') {
    return 'speaks plain JSON-RPC, so it can not be merged: must be an MCP server';
  }
  return isRepeated ? 'is listed twice: must be listed once' : undefined;
}
