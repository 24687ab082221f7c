// The programs that are compared: how each is made ready and with which arguments it serves the echo
// server. All run on the Node that runs the benchmark, with their own defaults. Sluice's ways are in
// sluice-subjects.ts.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dialect } from './load.ts';
import { type SluiceSubject, sluiceSubject } from './sluice-subjects.ts';

/** Node's arguments for one start. */
export interface Launch {
  readonly args: readonly string[];
  /** Of the Streamable HTTP endpoint. */
  readonly path: string;
  /** Unless clients are legacy ones and call `echo`. */
  readonly dialect?: Dialect;
  /** Ends what was started for it besides. */
  readonly release?: () => Promise<void>;
}

/** One program of the comparison. */
export interface Subject {
  readonly name: string;
  /** What it is in the report. */
  readonly title: string;
  /** Whether clients have sessions on it. */
  readonly hasSessions: boolean;
  /**
   * @param port on loopback
   * @param scratch a folder for generated files
   */
  launch(port: number, scratch: string): Launch | Promise<Launch>;
}

/** A subject, or why it cannot take part. */
export type Prepared = Subject | { readonly name: string; readonly missing: string };

export const SUBJECT_NAMES = [
  'bare-pipe',
  'constant',
  'sluice',
  'sluice-modern',
  'sluice-to-legacy',
  'sluice-to-modern',
  'sluice-key',
  'sluice-token',
  'sluice-aggregate',
  'sluice-aggregate-modern',
  'sluice-fleet',
  'sluice-fleet-modern',
  'mcp-proxy',
  'supergateway',
] as const;
export type SubjectName = (typeof SUBJECT_NAMES)[number];

const ROOT = join(import.meta.dirname, '..', '..');
const PEER_FOLDER = join(ROOT, '.bench');
const PEERS = { 'mcp-proxy': '6.7.19', supergateway: '4.0.0' };
const INSTALL_TIMEOUT_MS = 180_000;
const ECHO_SERVER = join(import.meta.dirname, 'echo-server.ts');

/** Makes a subject ready: builds or installs what it needs. */
export function prepare(name: SubjectName): Prepared {
  switch (name) {
    case 'bare-pipe':
      return BARE_PIPE;
    case 'constant':
      return CONSTANT;
    case 'mcp-proxy':
      return installPeer(name) ?? mcpProxy();
    case 'supergateway':
      return installPeer(name) ?? supergateway();
    default:
      return prepareSluice(name);
  }
}

const BARE_PIPE: Subject = {
  name: 'bare-pipe',
  title: 'bare pipe',
  hasSessions: false,
  launch: (port) => ({
    args: [join(import.meta.dirname, 'bare-pipe.ts'), String(port), process.execPath, ECHO_SERVER],
    path: '/mcp',
  }),
};

const CONSTANT: Subject = {
  name: 'constant',
  title: 'constant',
  hasSessions: false,
  launch: (port) => ({
    args: [join(import.meta.dirname, 'constant.ts'), String(port)],
    path: '/mcp',
  }),
};

/** Why Sluice can't be built, once it is known: undefined while it was not tried. */
let buildFailure: string | undefined;

/**
 * Builds `dist/` once.
 * @returns why that fails, or an empty text
 */
export function buildSluice(): string {
  buildFailure ??= tryBuild();
  return buildFailure;
}

function tryBuild(): string {
  if (!existsSync(join(ROOT, 'src', 'main.ts'))) return 'src/main.ts does not exist';
  try {
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, encoding: 'utf8' });
    return '';
  } catch (error) {
    return `the build fails: ${firstLine(error)}`;
  }
}

function prepareSluice(name: SluiceSubject): Prepared {
  const missing = buildSluice();
  return missing === '' ? sluiceSubject(name) : { name, missing };
}

function peerManifest(name: keyof typeof PEERS): { version?: string } | undefined {
  const file = join(PEER_FOLDER, 'node_modules', name, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/**
 * Installs a peer in a folder of its own unless it is there.
 * @returns why it cannot be had, or undefined when all is well
 */
function installPeer(name: keyof typeof PEERS): Prepared | undefined {
  const version = PEERS[name];
  if (peerManifest(name)?.version === version) return undefined;
  mkdirSync(PEER_FOLDER, { recursive: true });
  const manifest = join(PEER_FOLDER, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  process.stderr.write(`bench: installing ${name} ${version} in .bench/\n`);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    execFileSync('npm', ['install', ...flags, '--save-exact', `${name}@${version}`], {
      cwd: PEER_FOLDER,
      timeout: INSTALL_TIMEOUT_MS,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return undefined;
  } catch (error) {
    return { name, missing: `cannot be installed: ${firstLine(error)}` };
  }
}

/** mcp-proxy takes a host and keeps one child for all sessions. */
function mcpProxy(): Subject {
  const entry = join(PEER_FOLDER, 'node_modules', 'mcp-proxy', 'dist', 'bin', 'mcp-proxy.mjs');
  return {
    name: 'mcp-proxy',
    title: `mcp-proxy ${PEERS['mcp-proxy']}`,
    hasSessions: true,
    launch: (port) => ({
      args: [
        entry,
        '--host',
        '127.0.0.1',
        '--port',
        String(port),
        '--server',
        'stream',
        '--',
        process.execPath,
        ECHO_SERVER,
      ],
      path: '/mcp',
    }),
  };
}

/** supergateway with sessions, which are a child each; without them it starts a child a request. */
function supergateway(): Subject {
  const entry = join(PEER_FOLDER, 'node_modules', 'supergateway', 'dist', 'index.js');
  const loopback = join(import.meta.dirname, 'loopback-only.ts');
  return {
    name: 'supergateway',
    title: `supergateway ${PEERS.supergateway}`,
    hasSessions: true,
    launch: (port) => ({
      args: [
        '--import',
        loopback,
        entry,
        '--stdio',
        `"${process.execPath}" "${ECHO_SERVER}"`,
        '--outputTransport',
        'streamableHttp',
        '--stateful',
        // Its default prints every message; without is the better number.
        '--port',
        String(port),
        '--logLevel',
        'none',
      ],
      path: '/mcp',
    }),
  };
}

function firstLine(error: unknown): string {
  const output = error as { stdout?: string; stderr?: string; message?: string };
  const text = [output.stderr, output.stdout, output.message].find((part) => part?.trim()) ?? '';
  return text.trim().split('\n')[0] ?? '';
}
