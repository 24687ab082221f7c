// What is shown of servers, and the endpoints that merge them, as `sluice check` writes them.
import { formatDuration } from '../base/duration.ts';
import type { Curation } from '../catalog/curation-options.ts';
import type { EndpointOptions } from '../catalog/endpoint-options.ts';
import {
  type NamedOptions,
  type ShapingOptions,
  type ToolOverride,
  writtenArgument,
} from '../catalog/shaping-options.ts';

/** The keys of a server's entry. */
export function describeCuration(curation: Curation | undefined): Record<string, unknown> {
  if (curation === undefined) return {};
  const { pin, validateArguments } = curation;
  return { ...describeShaping(curation), pin, validateArguments };
}

/** The keys of an entry of `endpoints`. */
export function describeEndpoint(options: EndpointOptions): Record<string, unknown> {
  const { naming, waits, shape, servers, pin, validateArguments, toolList } = options;
  const shapes = Object.entries(shape).map(([name, one]) => [name, describeShaping(one)]);
  return {
    servers,
    ...naming,
    connectTimeout: formatDuration(waits.connectMs),
    listTimeout: formatDuration(waits.listMs),
    ...(shapes.length === 0 ? {} : { shape: Object.fromEntries(shapes) }),
    pin,
    validateArguments,
    toolList,
  };
}

function describeShaping({ tools, prompts, resources }: ShapingOptions): Record<string, unknown> {
  return { tools: tools && describeTools(tools), prompts, resources };
}

function describeTools({ overrides, ...rest }: NamedOptions<ToolOverride>): object {
  if (overrides === undefined) return rest;
  const described = Object.entries(overrides).map(([name, override]) => {
    const { arguments: rules, timeoutMs, ...words } = override;
    const args = Object.entries(rules ?? {}).map(([argument, rule]) => [
      argument,
      writtenArgument(rule),
    ]);
    const timeout = timeoutMs === undefined ? {} : { timeout: formatDuration(timeoutMs) };
    const hidden = args.length === 0 ? {} : { arguments: Object.fromEntries(args) };
    return [name, { ...words, ...hidden, ...timeout }];
  });
  return { ...rest, overrides: Object.fromEntries(described) };
}
