// Flags of `sluice serve` and `sluice run` that stand for options. They win over the file.
import { type ConfigPath, formatPath } from './issues.ts';
import { isRecord } from './records.ts';

/** What the command line says of the listeners; undefined: nothing. */
export interface ListenerFlags {
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  readonly adminPort?: number | undefined;
}

/** Which flag stands for an option. */
export const LISTENER_FLAGS: Readonly<Record<string, string>> = {
  'listen.port': '--port',
  'listen.host': '--host',
  'admin.port': '--admin-port',
};

/**
 * Puts the flags in the place of what a file says.
 * @param raw the values of the file; what is wrong with them is not decided here
 */
export function withFlags(raw: unknown, { port, host, adminPort }: ListenerFlags): unknown {
  if (!isRecord(raw)) return raw;
  const result: Record<string, unknown> = { ...raw };
  if (port !== undefined) replace(result, 'listen', { port });
  if (host !== undefined) replace(result, 'listen', { host });
  // Whoever asks for a port does not want the socket.
  if (adminPort !== undefined) replace(result, 'admin', { port: adminPort, socket: undefined });
  return result;
}

/** The flag that said what is at a path; undefined: the file did. */
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
