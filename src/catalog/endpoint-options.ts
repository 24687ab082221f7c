// Options of an endpoint that shows several servers as one.
import type { z } from 'zod';
import { duration, list, oneOf, section, text } from '../base/options.ts';
import type { NamingOptions } from './names.ts';
import { type PinMode, pinSchema } from './pins/options.ts';
import { type ToolListMode, toolListSchema } from './search/options.ts';
import { type ShapingOptions, shapeSchema } from './shaping-options.ts';
import { type ValidationMode, validateArgumentsSchema } from './validation/options.ts';

const DEFAULT_CONNECT_MS = 800;
const DEFAULT_LIST_MS = 5_000;
const DEFAULT_SEPARATOR = '__';

/** One entry of `endpoints`. */
export const endpointSchema = section({
  servers: list(text('a server name'), 'a list of server names').optional().meta({
    description: 'Names of the servers to merge, in the order of the lists. Default: all servers.',
  }),
  prefix: oneOf(['always', 'never', 'onConflict']).prefault('always').meta({
    description:
      'When a tool or prompt gets the name `server__name`: `always`, or only when several servers have the same name (`onConflict`), or `never`. With `never` the first server keeps the name, and the others are left out.',
  }),
  separator: text('1 to 8 of A-Z, a-z, 0-9, _ and -')
    .regex(/^[A-Za-z0-9_-]{1,8}$/, { error: 'must be 1 to 8 of A-Z, a-z, 0-9, _ and -' })
    .prefault(DEFAULT_SEPARATOR)
    .meta({ description: 'Text between the name of the server and the name of the tool.' }),
  shape: shapeSchema.optional(),
  pin: pinSchema,
  validateArguments: validateArgumentsSchema,
  toolList: toolListSchema,
  connectTimeout: duration(0).prefault('800ms').meta({
    description:
      'How long clients wait for a server that is not ready, in `initialize` and in lists. The time is counted once for all clients. A slower server is left out until it is ready; then clients get `list_changed`.',
  }),
  listTimeout: duration(100).prefault('5s').meta({
    description:
      'How long a client waits for the list of a server that is ready, and for the start of a private server. A slower server is left out; clients get `list_changed` when its list has arrived.',
  }),
});

/** What it makes. */
export type EndpointEntry = z.output<typeof endpointSchema>;

/** An endpoint with several servers. */
export interface EndpointOptions {
  /** Where it is: `/team`, or `/` for the default paths. */
  readonly path: string;
  /** In the order of the configuration; undefined: all. */
  readonly servers: readonly string[] | undefined;
  readonly naming: NamingOptions;
  /** By server, on top of what the servers' own entries say. */
  readonly shape: Readonly<Record<string, ShapingOptions>>;
  readonly pin: PinMode;
  readonly validateArguments: ValidationMode;
  readonly toolList: ToolListMode;
  readonly waits: WaitLimits;
}

/** How long clients wait for one server of an endpoint, in milliseconds. */
export interface WaitLimits {
  /** For a server that is not ready. */
  readonly connectMs: number;
  /** For one list of a server. */
  readonly listMs: number;
}

/** Options that were read, with the path that they are for. */
export function resolveEndpoint(path: string, options: EndpointEntry): EndpointOptions {
  const { servers, prefix, separator, connectTimeout, listTimeout, shape = {}, ...modes } = options;
  const waits = { connectMs: connectTimeout, listMs: listTimeout };
  return { path, servers, ...modes, shape, naming: { prefix, separator }, waits };
}

/** The default paths when the configuration says nothing of them. */
export const DEFAULT_ENDPOINT: EndpointOptions = {
  path: '/',
  servers: undefined,
  naming: { prefix: 'always', separator: DEFAULT_SEPARATOR },
  shape: {},
  pin: 'off',
  validateArguments: 'off',
  toolList: 'full',
  waits: { connectMs: DEFAULT_CONNECT_MS, listMs: DEFAULT_LIST_MS },
};
