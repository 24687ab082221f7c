// The schema of the whole file, composed of the options of each part. `settingsSchema`, for validation,
// leaves out the servers, because the schema for each entry is chosen first: a union would answer every error
// with "invalid input". `documentSchema` is for editors.
import { z } from 'zod';
import { adminSchema } from '../admin/options.ts';
import { authSchema } from '../auth/options.ts';
import { duration, filledText, flag, isMap, section, text } from '../base/options.ts';
import { endpointSchema } from '../catalog/endpoint-options.ts';
import { limitsSchema, listenSchema, sessionsSchema } from '../listener/options.ts';
import { auditSchema, logSchema } from '../observe/options.ts';
import { stateSchema } from '../translate/options.ts';
import { processesSchema } from '../upstream/options.ts';
import { remoteServerSchema, serverSchema } from './server-entry.ts';

/** The form of server names. */
export const SERVER_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

const settings = {
  listen: listenSchema.prefault({}).describe('The listener for clients.'),
  admin: adminSchema.prefault({}).meta({
    description: 'The listener for `/metrics`, `/healthz` and `/readyz`.',
  }),
  log: logSchema.prefault({}).describe('Logging.'),
  audit: auditSchema.prefault({}).describe('The audit log.'),
  sessions: sessionsSchema.prefault({}).describe('Client sessions.'),
  limits: limitsSchema.prefault({}).describe('Limits for clients.'),
  processes: processesSchema.prefault({}).meta({
    description: 'Limits for the processes of all servers together.',
  }),
  state: stateSchema.prefault({}).meta({
    description: "Calls of modern clients that wait for the answer to a server's request.",
  }),
  data: filledText('the path of a folder').optional().meta({
    description:
      'Folder for what has to outlive the process: keys that encrypt the ids of sessions, and what is known of these sessions. Made with mode 0700 if it is not there; one process at a time uses it. Default: the environment variable `SLUICE_DATA`. Without either, nothing is kept.',
  }),
  drain: duration(0).prefault('25s').meta({
    description: 'How long a stop waits for calls in flight to finish.',
  }),
  reload: section({
    watch: flag().prefault(true).meta({
      description:
        'Reload when the configuration file changes, or a file that it names with `${file:...}`. Signals and requests reload it in any case.',
    }),
  })
    .prefault({})
    .meta({ description: 'When a running gateway reads its configuration again.' }),
  endpoints: z
    .record(z.string(), endpointSchema, { error: 'must be a map of paths' })
    .prefault({})
    .meta({
      description:
        'More endpoints. Each is a path that merges some servers. `/` configures the default paths, which merge all servers.',
    }),
};

const AUTH = {
  description:
    'Authentication and authorization. `none`, the default, lets every client on loopback use everything.',
};

/** Editors find the schema by this key. JSON has no comments for that. */
const editorKeys = {
  $schema: text('the address of a JSON Schema').optional().meta({
    description: 'JSON Schema of this file, for editors. The gateway ignores it.',
  }),
};

/** Everything except the servers. */
export const settingsSchema = section({
  ...settings,
  ...editorKeys,
  // config/resolve.ts decides which of its two forms it has.
  auth: z.unknown().optional(),
  servers: z.unknown().optional(),
  mcpServers: z.unknown().optional(),
})
  .refine((value) => !isSamePort(value.listen, value.admin), {
    path: ['admin', 'port'],
    when: isMap,
    error: 'is the port of the public listener too: must be a port of its own',
  })
  .refine(({ limits, listen }) => isEnough(limits?.heldBytes, listen?.maxBody), {
    path: ['limits', 'heldBytes'],
    when: isMap,
    error: 'is less than two messages of listen.maxBody: must be at least twice as much as that',
  });

/** An entry in a host's file: the same options, and keys of the host, which are ignored. */
const hostEntry = z.union([
  z.looseObject(serverSchema.shape),
  z.looseObject(remoteServerSchema.shape),
]);

/** The whole document, for the JSON Schema that editors use. */
export const documentSchema = section({
  servers: z
    .record(z.string().regex(SERVER_NAME), z.union([serverSchema, remoteServerSchema]))
    .optional()
    .meta({ description: 'The servers by name.' }),
  mcpServers: z
    .record(z.string(), hostEntry)
    .optional()
    .meta({ description: 'The servers in the format of MCP hosts, instead of `servers`.' }),
  ...settings,
  auth: z
    .union([z.literal('none'), authSchema])
    .optional()
    .meta(AUTH),
  ...editorKeys,
});

function isEnough(heldBytes: unknown, maxBody: unknown): boolean {
  const isKnown = typeof heldBytes === 'number' && typeof maxBody === 'number';
  return !isKnown || heldBytes >= 2 * maxBody;
}

type Address = { readonly host: string; readonly port: number } | undefined;

function isSamePort(listen: Address, admin: Address): boolean {
  return (
    typeof listen?.port === 'number' &&
    listen.port !== 0 &&
    listen.port === admin?.port &&
    listen.host === admin.host
  );
}
