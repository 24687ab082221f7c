// Flags of `sluice serve` and `sluice run` that replace options of the file.
import { type ConfigPath, formatPath } from './issues.ts';
import { isRecord } from './records.ts';

/** The listener flags; undefined: not given. */
export interface ListenerFlags {
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  readonly adminPort?: number | undefined;
}

/** The flag for each option. */
export const LISTENER_FLAGS: Readonly<Record<string, string>> = {
  'listen.port': '--port',
  'listen.host': '--host',
  'admin.port': '--admin-port',
};

/**
 * Replaces options of a file by flags.
 * @param raw the values of the file; they are not checked here
 */
export function withFlags(raw: unknown, { port, host, adminPort }: ListenerFlags): unknown {
  if (!isRecord(raw)) return raw;
  const result: Record<string, unknown> = { ...raw };
  if (port !== undefined) replace(result, 'listen', { port });
  if (host !== undefined) replace(result, 'listen', { host });
  // A flag for the port means that no socket is wanted.
  if (adminPort !== undefined) replace(result, 'admin', { port: adminPort, socket: undefined });
  return result;
}

/** The flag that set the value at a path; undefined if it came from the file. */
export function flagAt(path: ConfigPath, flags: ListenerFlags): string | undefined {
  const given: Readonly<Record<string, unknown>> = {
    '--port': flags.port,
    '--host': flags.host,
    '--admin-port': flags.adminPort,
  };
  const flag = LISTENER_FLAGS[formatPath(path)];
  return flag !== undefined && given[flag] !== undefined ? flag : undefined;
}

function replace(raw: Record<string, unknown>, name: string, values: object): void {
  const section = raw[name] ?? {};
  if (isRecord(section)) raw[name] = { ...section, ...values };
}
