// Sluice in the ways in which it is measured: which clients call which servers through which endpoint.
// Nothing else is configured; everything has its default, as in a user's file.
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { writeKeyFile } from '../../src/auth/key-file.ts';
import { programFlags } from '../support/program-flags.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { FLEET, fleetServerName, fleetTools } from './fleet.ts';
import type { Dialect } from './load.ts';
import type { Launch, Subject } from './subjects.ts';

/** One entry under `servers:`. */
interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
}

/** Who is let in, and by what. */
interface Access {
  readonly config: object;
  readonly credentials?: string;
  readonly release?: () => Promise<void>;
}

/** One way to measure Sluice. */
interface Variant {
  readonly title: string;
  readonly dialect: Dialect;
  /** @param scratch a folder for generated files */
  servers(scratch: string): Record<string, ServerEntry>;
  readonly endpoints?: object;
  /** Who is let in. */
  access?(port: number, scratch: string): Access | Promise<Access>;
}

const ROOT = join(import.meta.dirname, '..', '..');
const ECHO_SERVER = join(import.meta.dirname, 'echo-server.ts');
const FLEET_SERVER = join(import.meta.dirname, 'fleet-server.sh');
const MERGED = 6;
const ALLOW_ALL = [{ servers: ['*'] }];
/** All clients of a subject are one principal. */
const MANY = { maxPerPrincipal: 10_000 };

const LEGACY: Dialect = { era: 'legacy', tool: 'echo' };
const MODERN: Dialect = { era: 'modern', tool: 'echo' };
const MERGED_TOOL = 'echo3__echo';

/** @param switches of the echo server */
export function echoEntry(...switches: readonly string[]): ServerEntry {
  return { command: process.execPath, args: [ECHO_SERVER, ...switches] };
}

const legacyServer = () => ({ echo: echoEntry() });
const modernServer = () => ({ echo: echoEntry('--modern') });

function merged(...switches: readonly string[]): Record<string, ServerEntry> {
  const names = Array.from({ length: MERGED }, (_, n) => `echo${n + 1}`);
  return Object.fromEntries(names.map((name) => [name, echoEntry(...switches)]));
}

function fleet(scratch: string): Record<string, ServerEntry> {
  const folder = join(scratch, 'fleet');
  mkdirSync(folder, { recursive: true });
  const entries = Array.from({ length: FLEET.servers }, (_, server) => {
    const file = join(folder, `${server}.json`);
    writeFileSync(file, `${JSON.stringify({ tools: fleetTools(server, FLEET.toolsEach) })}\n`);
    return [fleetServerName(server), { command: '/bin/sh', args: [FLEET_SERVER, file] }] as const;
  });
  return Object.fromEntries(entries);
}

/** One API key, as `sluice keys add` makes it. */
function withKey(_port: number, scratch: string): Access {
  const keyFile = join(scratch, 'keys.json');
  const { id, key, sha256 } = createApiKey();
  const created = new Date().toISOString();
  writeKeyFile(keyFile, [{ id, name: 'bench', sha256, groups: [], scopes: [], created }]);
  return {
    config: { auth: { keys: { file: keyFile }, allow: ALLOW_ALL }, sessions: MANY },
    credentials: bearer(key),
  };
}

/** An access token of an authorization server on loopback. */
async function withToken(port: number): Promise<Access> {
  const issuer = await TokenIssuer.start();
  const publicUrl = `http://127.0.0.1:${port}`;
  const claims = { aud: publicUrl, scope: 'mcp:read mcp:write', jti: randomUUID() };
  const token = await issuer.token(claims, { seconds: 3_600 });
  const issuers = [{ issuer: issuer.issuer, jwksUrl: issuer.jwksUrl }];
  return {
    config: { listen: { port, publicUrl }, auth: { issuers, allow: ALLOW_ALL }, sessions: MANY },
    credentials: bearer(token),
    release: () => issuer.stop(),
  };
}

function bearer(secret: string): string {
  return `Authorization: Bearer ${secret}\r\n`;
}

/** A busy machine starts a hundred processes slowly. */
const PATIENT = { '/': { listTimeout: '60s' } };

const VARIANTS = {
  sluice: { title: 'Sluice', dialect: LEGACY, servers: legacyServer },
  'sluice-modern': { title: 'Sluice, modern', dialect: MODERN, servers: modernServer },
  'sluice-to-legacy': { title: 'modern to legacy', dialect: MODERN, servers: legacyServer },
  'sluice-to-modern': { title: 'legacy to modern', dialect: LEGACY, servers: modernServer },
  'sluice-key': { title: 'API key', dialect: LEGACY, servers: legacyServer, access: withKey },
  'sluice-token': { title: 'token', dialect: LEGACY, servers: legacyServer, access: withToken },
  'sluice-aggregate': {
    title: `${MERGED} servers`,
    dialect: { era: 'legacy', tool: MERGED_TOOL },
    servers: () => merged(),
  },
  'sluice-aggregate-modern': {
    title: `${MERGED} servers, modern`,
    dialect: { era: 'modern', tool: MERGED_TOOL },
    servers: () => merged('--modern'),
  },
  'sluice-fleet': {
    title: `${FLEET.servers} servers`,
    dialect: LEGACY,
    servers: fleet,
    endpoints: PATIENT,
  },
  'sluice-fleet-modern': {
    title: `${FLEET.servers} servers, modern`,
    dialect: MODERN,
    servers: fleet,
    endpoints: PATIENT,
  },
} as const satisfies Record<string, Variant>;

export type SluiceSubject = keyof typeof VARIANTS;

/** Sluice in one of its ways, from `dist/`. */
export function sluiceSubject(name: SluiceSubject): Subject {
  const variant: Variant = VARIANTS[name];
  const { title, dialect, endpoints } = variant;
  return {
    name,
    title,
    hasSessions: dialect.era === 'legacy',
    launch: async (port, scratch) => {
      const servers = variant.servers(scratch);
      const access = await variant.access?.(port, scratch);
      const { config, credentials, release } = access ?? { config: {} };
      return {
        ...launchSluice(port, scratch, { servers, endpoints, ...config }),
        dialect: credentials === undefined ? dialect : { ...dialect, credentials },
        ...(release && { release }),
      };
    },
  };
}

/**
 * How Sluice is started, as the image and the `sluice` command do it.
 * @param config what its file holds besides the listeners
 */
export function launchSluice(port: number, scratch: string, config: object): Launch {
  const file = join(scratch, `sluice-${port}.json`);
  // A YAML file may as well be JSON.
  writeFileSync(file, JSON.stringify({ listen: { port }, admin: { port: 0 }, ...config }));
  const args = [...programFlags().nodeArgs, join(ROOT, 'dist', 'main.js')];
  return { args: [...args, 'serve', '--config', file], path: '/mcp' };
}
