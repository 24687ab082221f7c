// Makes the endpoints: each server under its own path, all servers under the default paths, and those of the
// configuration.

import { isSameValue } from '../base/same-value.ts';
import type { AllLists } from '../catalog/all-lists.ts';
import { type CatalogOptions, isAsItIs, strictest } from '../catalog/catalog-options.ts';
import { DEFAULT_ENDPOINT, type EndpointOptions } from '../catalog/endpoint-options.ts';
import { MemberCatalog } from '../catalog/member-catalog.ts';
import type { Pins } from '../catalog/pins/pins.ts';
import type { ServerLists } from '../catalog/server-lists.ts';
import type { ArgumentValidators } from '../catalog/validation/argument-validators.ts';
import type { Config } from '../config/config.ts';
import type { Logger } from '../observe/logger.ts';
import type { Endpoint } from '../ports/dispatcher.ts';
import type { AccessPolicy } from '../ports/principal.ts';
import { AggregateEndpoint } from '../router/aggregate/aggregate-endpoint.ts';
import type { AggregatedServer } from '../router/aggregate/member.ts';
import { DirectEndpoint } from '../router/direct-endpoint.ts';
import type { ModernState } from '../translate/modern-dispatcher.ts';
import type { ServerBackend } from '../upstream/backend.ts';

/** An endpoint that there is to be, what its paths begin with, and all that it is made of. */
export interface PlannedEndpoint {
  /** Empty, or begins with a slash. */
  readonly prefix: string;
  readonly make: () => Endpoint;
  /** Compared as values. */
  readonly options: unknown;
  /** Compared as the objects that they are, as are other parts. */
  readonly backends: readonly ServerBackend[];
  readonly parts: readonly object[];
}

/** Whether two plans make the same endpoint. */
export function isSamePlan(one: PlannedEndpoint, other: PlannedEndpoint): boolean {
  return isSameSelection(one, other) && areSame(one.backends, other.backends);
}

/** Whether two plans show the same of servers of the same names. */
export function isSameSelection(one: PlannedEndpoint, other: PlannedEndpoint): boolean {
  const names = ({ backends }: PlannedEndpoint): string[] => backends.map(({ name }) => name);
  return (
    areSame(names(one), names(other)) &&
    areSame(one.parts, other.parts) &&
    isSameValue(one.options, other.options)
  );
}

function areSame(ones: readonly unknown[], others: readonly unknown[]): boolean {
  return ones.length === others.length && ones.every((one, index) => one === others[index]);
}

/** What endpoints need from the gateway. */
export interface EndpointParts {
  readonly state: ModernState;
  readonly lists: AllLists;
  /** Undefined: everything is allowed. */
  readonly policy: AccessPolicy | undefined;
  readonly pins: Pins;
  readonly validators: ArgumentValidators;
  readonly logger: Logger;
  readonly gatewayVersion: string;
}

/** A server that endpoints can show. */
interface ShownServers {
  readonly backend: ServerBackend;
  readonly lists: ServerLists;
  readonly catalogOptions: CatalogOptions;
  readonly isShared: boolean;
}

const AS_IT_IS: CatalogOptions = { pin: 'off', validateArguments: 'off' };

/**
 * Plans all endpoints.
 * @param backends of the servers that are shown, by name
 */
export function planEndpoints(
  config: Config,
  backends: ReadonlyMap<string, { readonly backend: ServerBackend }>,
  parts: EndpointParts,
): PlannedEndpoint[] {
  const servers = config.servers.flatMap(({ sharing, name }): ShownServers[] => {
    const backend = backends.get(name)?.backend;
    if (backend === undefined) return [];
    const catalogOptions = config.catalogOptionsOf.get(name) ?? AS_IT_IS;
    const lists = parts.lists.of(name);
    return [{ backend, lists, catalogOptions, isShared: sharing === 'shared' }];
  });
  const single = servers.map((server): PlannedEndpoint => {
    const prefix = `/servers/${server.backend.name}`;
    return { prefix, ...curated(prefix, server, parts) };
  });
  const hasDefault = config.endpoints.some(({ path }) => path === '/');
  const options = hasDefault ? config.endpoints : [DEFAULT_ENDPOINT, ...config.endpoints];
  return [...single, ...options.flatMap((one) => merged(one, servers, parts) ?? [])];
}

/** A plan without its place. */
type Plan = Omit<PlannedEndpoint, 'prefix'>;

/** One server under its own names. */
function curated(name: string, server: ShownServers, parts: EndpointParts): Plan {
  const { backend, catalogOptions } = server;
  const isOpen = parts.policy === undefined || backend.protocol === 'jsonrpc';
  if (isAsItIs(catalogOptions) && isOpen) {
    const make = (): Endpoint => new DirectEndpoint(name, backend, parts.state);
    return { make, options: 'as it is', backends: [backend], parts: [] };
  }
  const options: EndpointOptions = { ...DEFAULT_ENDPOINT, prefix: 'never' };
  return aggregate(name, options, [server], parts);
}

function merged(
  options: EndpointOptions,
  servers: readonly ShownServers[],
  parts: EndpointParts,
): PlannedEndpoint | undefined {
  const { path } = options;
  const prefix = path === '/' ? '' : path;
  const [only] = servers;
  // With only one server, the default paths show it unchanged.
  if (options === DEFAULT_ENDPOINT && only !== undefined && servers.length === 1) {
    return { prefix, ...curated(path, only, parts) };
  }
  const shown = chosen(options, servers).filter(({ backend }) => backend.protocol === 'mcp');
  if (shown.length === 0) return undefined;
  return { prefix, ...aggregate(path, options, shown, parts) };
}

/** In the order of the endpoint, or of the file. */
function chosen(
  { servers: names }: EndpointOptions,
  servers: readonly ShownServers[],
): readonly ShownServers[] {
  if (names === undefined) return servers;
  return names.flatMap((name) => servers.filter(({ backend }) => backend.name === name));
}

function aggregate(
  name: string,
  options: EndpointOptions,
  servers: readonly ShownServers[],
  parts: EndpointParts,
): Plan {
  const shown = servers.map(({ catalogOptions }) => catalogOptions);
  const isPinned = [options, ...shown].some(({ pin }) => pin !== 'off');
  return {
    options: [options, shown],
    backends: servers.map(({ backend }) => backend),
    parts: [parts.policy, isPinned ? parts.pins : undefined].filter((part) => part !== undefined),
    make: () => aggregated(name, options, servers, parts),
  };
}

function aggregated(
  name: string,
  options: EndpointOptions,
  servers: readonly ShownServers[],
  parts: EndpointParts,
): Endpoint {
  const members = servers.map(({ backend, lists, isShared, catalogOptions }): AggregatedServer => {
    const key = backend.name;
    const shaping = [catalogOptions, options.shape?.[key]];
    const pin = strictest(catalogOptions.pin, options.pin);
    const catalog = new MemberCatalog({ key, shaping, pin }, parts);
    const validation = strictest(catalogOptions.validateArguments, options.validateArguments);
    return { backend, lists, isShared, catalog, validation };
  });
  const { toolList } = options;
  return new AggregateEndpoint({ name, naming: options, waits: options, toolList }, members, parts);
}
