// Counts the functions of src that one call runs through, warm, from the socket of its client to its
// server and back: what a reader has to follow, and what each call pays. docs/architecture.md has the
// figures. `node scripts/call-path.ts [--list]`; `--list` names the functions.
import { type Profiler, Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { McpClient } from '../test/bench/mcp-client.ts';
import { ModernMcpClient } from '../test/bench/modern-mcp-client.ts';
import { SMALL } from '../test/bench/work.ts';
import { startGateway } from '../test/support/gateway.ts';

const SOURCES = new URL('../src/', import.meta.url);
const ECHO = fileURLToPath(new URL('../test/bench/echo-server.ts', import.meta.url));
const WARM_UP = 50;
/** A timer may run beside a call: what most calls do not run is not counted. */
const SAMPLES = 9;

const { values: options } = parseArgs({ options: { list: { type: 'boolean', default: false } } });

/** The functions of src in a coverage, as `file: function (offset)`. */
function functionsRun(scripts: readonly Profiler.ScriptCoverage[]): string[] {
  return scripts
    .filter(({ url }) => url.startsWith(SOURCES.href))
    .flatMap(({ url, functions }) => {
      const file = relative(fileURLToPath(SOURCES), fileURLToPath(url));
      return functions
        .filter(({ ranges: [range] }) => (range?.count ?? 0) > 0)
        .map(({ functionName, ranges }) => `${file}: ${functionName} (${ranges[0]?.startOffset})`);
    });
}

/** What most of several calls run. */
async function pathOf(session: Session, call: () => Promise<unknown>): Promise<string[]> {
  for (let count = 0; count < WARM_UP; count++) await call();
  const runs = new Map<string, number>();
  for (let sample = 0; sample < SAMPLES; sample++) {
    await session.post('Profiler.takePreciseCoverage');
    await call();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    for (const name of functionsRun(result)) runs.set(name, (runs.get(name) ?? 0) + 1);
  }
  return [...runs].filter(([, count]) => count > SAMPLES / 2).map(([name]) => name);
}

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const echo = { command: process.execPath, args: [ECHO] };
const modernEcho = { command: process.execPath, args: [ECHO, '--modern'] };
const gateway = await startGateway({
  servers: { legacy: echo, modern: modernEcho },
  log: { level: 'info' },
  waitReady: false,
});
const port = Number(new URL(gateway.url).port);
const at = (path: string): { port: number; path: string } => ({ port, path });
const CALLS = {
  'legacy client, one legacy server': new McpClient(at('/servers/legacy/mcp'), 'echo'),
  'modern client, one modern server': new ModernMcpClient(at('/servers/modern/mcp'), 'echo'),
  'legacy client, several servers, a legacy one': new McpClient(at('/mcp'), 'legacy__echo'),
  'modern client, several servers, a legacy one': new ModernMcpClient(at('/mcp'), 'legacy__echo'),
};
for (const [name, client] of Object.entries(CALLS)) {
  await client.open();
  const path = await pathOf(session, () => client.perform(SMALL));
  const files = new Set(path.map((line) => line.slice(0, line.indexOf(':'))));
  process.stdout.write(`${name}: ${files.size} files, ${path.length} functions\n`);
  if (options.list) for (const line of path.toSorted()) process.stdout.write(`  ${line}\n`);
  await client.close();
}
session.disconnect();
await gateway.stop();
