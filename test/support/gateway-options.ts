/** How tests say what a gateway is started with, and the configuration file that is made of it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processesMentioning } from './processes.ts';
import type { ServerConfig } from './scripted-server.ts';
import { tempDir } from './temp-dir.ts';

export interface GatewayOptions {
  readonly servers: Readonly<Record<string, ServerConfig>>;
  readonly listen?: Readonly<Record<string, unknown>>;
  readonly admin?: Readonly<Record<string, unknown>>;
  readonly log?: Readonly<Record<string, unknown>>;
  /** Further top-level keys of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /**
   * Whether it is a process of its own, as users have it. Default: when an option below needs that. Else it
   * runs within this one, behind real sockets and over real servers: faster by a start of Node.
   */
  readonly ownProcess?: boolean;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Command line after `serve --config FILE`. */
  readonly args?: readonly string[];
  /** A program that starts it, with its own arguments: `prlimit --nofile=64`. */
  readonly startedBy?: readonly string[];
  /** Arguments of Node itself. */
  readonly nodeArgs?: readonly string[];
  /** A checkout whose sources run instead of these. */
  readonly checkout?: string;
  /** Descriptors of this process that the gateway is started with, from 20 on. */
  readonly inherited?: readonly number[];
  /** Also wait for `ready` (the first start attempt of all eager servers). Default true. */
  readonly waitReady?: boolean;
}

export interface StopResult {
  /** Exit code, or null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** Writes the configuration file into a folder of its own. */
export function writeConfiguration(options: GatewayOptions): { folder: string; file: string } {
  const folder = tempDir();
  return { folder, file: rewriteConfiguration(folder, options) };
}

/** Writes it again. @returns its path */
export function rewriteConfiguration(folder: string, options: GatewayOptions): string {
  const file = join(folder, 'sluice.yaml');
  const { servers, listen, admin, log, config } = options;
  const document = {
    listen: { port: 0, ...listen },
    admin: { port: 0, ...admin },
    log: { level: 'debug', ...log },
    servers,
    ...config,
  };
  // JSON is YAML 1.2, and keeps every string a string.
  writeFileSync(file, JSON.stringify(document, null, 2));
  return file;
}

/** Servers of such a gateway that got away from its tree: found by the journals they were started with. */
export function leftovers(options: GatewayOptions): number[] {
  return marksOf(options.servers).flatMap((mark) =>
    processesMentioning(mark).map((info) => info.pid),
  );
}

/** The journal files named in the servers' arguments. */
function marksOf(servers: GatewayOptions['servers']): string[] {
  return Object.values(servers).flatMap((server) => {
    const args = Array.isArray(server['args']) ? (server['args'] as unknown[]) : [];
    return args.filter((arg, i): arg is string => args[i - 1] === '--journal' && arg !== '');
  });
}
