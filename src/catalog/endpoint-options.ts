// Options of merged endpoints.
import { duration, list, type Options, oneOf, section, text } from '../base/options.ts';
import { trustKeys } from './catalog-options.ts';
import { shapeSchema } from './shaping-options.ts';

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
    .prefault('__')
    .meta({ description: 'Text between the name of the server and the name of the tool.' }),
  shape: shapeSchema.optional(),
  ...trustKeys,
  toolList: oneOf(['full', 'search']).prefault('full').meta({
    description:
      '`full` lists all tools. `search` lists only `find_tools`, `describe_tool` and `call_tool`, for endpoints with too many tools for a model.',
  }),
  connectTimeout: duration(0).prefault('800ms').meta({
    description:
      'How long clients wait for a server that is not ready, in `initialize` and in lists. The time is counted once for all clients. A slower server is left out until it is ready; then clients get `list_changed`.',
  }),
  listTimeout: duration(100).prefault('5s').meta({
    description:
      'How long a client waits for the list of a server that is ready, and for the start of a private server. A slower server is left out; clients get `list_changed` when its list has arrived.',
  }),
});

/** The options of a merged endpoint. */
export type EndpointEntry = Options<typeof endpointSchema>;

/** The same with its path: `/team`, or `/` for the default paths. */
export interface EndpointOptions extends EndpointEntry {
  readonly path: string;
}

/** How long clients wait for one server of an endpoint that is not ready, and for one of its lists. */
export type WaitLimits = Pick<EndpointEntry, 'connectTimeout' | 'listTimeout'>;

/** The default paths without any options. */
export const DEFAULT_ENDPOINT: EndpointOptions = { path: '/', ...endpointSchema.parse({}) };
