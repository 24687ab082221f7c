// Writes the resolved configuration as YAML with units, for `sluice check`. Loading it gives the same
// configuration, except for masked values. The schema of an option says how its value is written.
import { stringify } from 'yaml';
import { z } from 'zod';
import { authSchema } from '../auth/options.ts';
import { formatByteSize } from '../base/byte-size.ts';
import { formatDuration } from '../base/duration.ts';
import { endpointSchema } from '../catalog/endpoint-options.ts';
import type { ServerOptions } from '../upstream/options.ts';
import { MIN_SECRET_PART } from './document.ts';
import type { LoadedConfig } from './load.ts';
import { isRecord } from './records.ts';
import { settingsSchema } from './schema.ts';
import { remoteServerSchema, serverSchema } from './server-entry.ts';

const MASK = '***';

/** Values with such a name are masked, wherever they come from. */
const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIAL|AUTHORIZATION|COOKIE/i;

/** Keys that are written last in their section; `*` for entries with names of the user. */
const LAST: Readonly<Record<string, readonly string[]>> = {
  listen: ['tls', 'maxBody', 'publicUrl'],
  tls: ['clientCa'],
  auth: ['scope', 'audience', 'resource', 'clientSecret', 'ca'],
  '*': ['shape', 'pin', 'validateArguments', 'toolList', 'arguments', 'timeout'],
};

type Mask = (text: string) => string;
type Schema = z.core.$ZodType;

/** Writes a configuration as YAML text that ends in a newline. */
export function checkReport({ config, secrets }: LoadedConfig): string {
  const { auth, servers, catalogOptionsOf, endpoints, ...settings } = config;
  const mask = maskOf(secrets);
  const entry = (server: ServerOptions): unknown => {
    const shown = catalogOptionsOf.get(server.name);
    if (server.target.kind === 'remote') {
      return print(remoteServerSchema, { ...server, ...server.target, ...shown }, mask, '*');
    }
    const { resources, ...target } = server.target;
    const limits = { ...server.limits, ...resources };
    return print(serverSchema, { ...server, ...target, limits, ...shown }, mask, '*');
  };
  return stringify({
    ...(print(settingsSchema, settings, mask, '') as object),
    auth: auth === undefined ? 'none' : print(authSchema, auth, mask, ''),
    servers: Object.fromEntries(servers.map((server) => [server.name, entry(server)])),
    endpoints: Object.fromEntries(
      endpoints.map((one) => [one.path, print(endpointSchema, one, mask, '*')]),
    ),
  });
}

/**
 * A value as in a configuration file.
 * @param schema of an option or of a map of options
 * @param key of the value; `*` for a name that the user has chosen
 */
function print(schema: Schema, value: unknown, mask: Mask, key: string): unknown {
  if (value === undefined) return undefined;
  const { shown, format } = z.globalRegistry.get(schema) ?? {};
  if (shown !== undefined) return printGuarded(shown, value, mask);
  if (format === 'duration') return formatDuration(Number(value));
  if (format === 'size') return formatByteSize(Number(value));
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'prefault':
      return print(def.innerType, value, mask, key);
    case 'pipe':
      return print(def.in, value, mask, key);
    case 'enum':
      return value;
    case 'object':
      return printSection(def.shape, value, mask, key);
    case 'array':
      return printEach(value, (one) => print(def.element, one, mask, '*'));
    case 'record':
      return printEach(value, (one) => print(def.valueType, one, mask, '*'));
    default:
      return maskAll(value, mask);
  }
}

function printSection(
  shape: Readonly<Record<string, Schema>>,
  value: unknown,
  mask: Mask,
  key: string,
): unknown {
  const last = LAST[key] ?? [];
  const members = isRecord(value) ? value : {};
  const written = Object.entries(shape)
    .toSorted(([one], [other]) => last.indexOf(one) - last.indexOf(other))
    .map(([name, schema]) => [name, print(schema, members[name], mask, name)] as const);
  return Object.fromEntries(written.filter(([, text]) => text !== undefined));
}

/** A list or map with each of its values written. */
function printEach(value: unknown, write: (one: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(write);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, write(one)]));
}

/** A value with all its strings masked. */
function maskAll(value: unknown, mask: Mask): unknown {
  return typeof value === 'string' ? mask(value) : printEach(value, (one) => maskAll(one, mask));
}

/** Masks a value that may be secret even if it is written in the file itself. */
function printGuarded(shown: unknown, value: unknown, mask: Mask): unknown {
  switch (shown) {
    case 'variables':
      return maskValues(value as Record<string, string>, mask);
    case 'arguments':
      return maskArguments(value as string[], mask);
    case 'proxy':
      return mask(String(value).replace(/^([a-z]+:\/\/)?[^@/]*@/i, `$1${MASK}@`));
    default:
      return MASK;
  }
}

function maskValues(values: Readonly<Record<string, string>>, mask: Mask): Record<string, string> {
  const masked = Object.entries(values).map(([name, value]) => [
    name,
    SECRET_NAME.test(name) ? MASK : mask(value),
  ]);
  return Object.fromEntries(masked);
}

// In `--api-key VALUE` and `--api-key=VALUE` the value is secret, as in a variable with that name.
function maskArguments(args: readonly string[], mask: Mask): string[] {
  return args.map((argument, index) => {
    const assigned = /^(-[^=]*=)/.exec(argument)?.[1];
    if (assigned !== undefined && SECRET_NAME.test(assigned)) return `${assigned}${MASK}`;
    const before = args[index - 1];
    const isValue = before !== undefined && /^-[^=]*$/.test(before) && SECRET_NAME.test(before);
    return isValue && !argument.startsWith('-') ? MASK : mask(argument);
  });
}

function maskOf(secrets: ReadonlySet<string>): Mask {
  const parts = [...secrets]
    .filter((secret) => secret.length >= MIN_SECRET_PART)
    .sort((left, right) => right.length - left.length);
  return (text) => {
    if (secrets.has(text)) return MASK;
    return parts.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
  };
}
