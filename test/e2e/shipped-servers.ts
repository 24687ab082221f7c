/**
 * The server entries of config/sluice.yaml, for a gateway on ports of its own: what is relative to the
 * folder of that file is made absolute, everything else stays as it is shipped.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import type { GatewayOptions } from '../support/gateway.ts';
import { ROOT } from '../support/root.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The configuration that `npm start` serves. */
export const SHIPPED_CONFIG = join(ROOT, 'config/sluice.yaml');

/** The names that this configuration has to have. */
export const SHIPPED_NAMES = ['everything', 'files', 'memory'] as const;
export type ShippedName = (typeof SHIPPED_NAMES)[number];

interface Entry extends Record<string, unknown> {
  readonly command: string;
}

/** Options for `startGateway`; each call has a memory file of its own. */
export function shippedServers(): GatewayOptions {
  const folder = dirname(SHIPPED_CONFIG);
  const document = parse(readFileSync(SHIPPED_CONFIG, 'utf8')) as {
    readonly servers: Readonly<Record<string, Entry>>;
  };
  const servers: Record<string, Entry> = {};
  for (const [name, entry] of Object.entries(document.servers)) {
    const command = entry.command.startsWith('.') ? resolve(folder, entry.command) : entry.command;
    servers[name] = { cwd: folder, ...entry, command };
  }
  return { ownProcess: true, servers, env: { TMPDIR: tempDir() } };
}
