// `npm run bench:footprint`: what one `sluice serve` with one server and one `sluice connect` to it take, as the
// installed command runs them: memory at rest, processor time and time until they serve. Takes the best of some
// runs, since other load on the machine makes all of them worse. Numbers inform; they never fail a build.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sampleProcess } from './process-table.ts';
import { buildSluice } from './subjects.ts';

const RUNS = 5;
/** What the start left is collected within this. */
const REST_MS = 4_000;
const MEBI = 1024 * 1024;
const SLUICE = join(import.meta.dirname, '..', '..', 'bin', 'sluice.js');
const SERVER = join(import.meta.dirname, 'fleet-server.sh');
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'footprint', version: '1.0.0' },
  },
};

/** What one process took. */
interface Footprint {
  readonly readyMs: number;
  readonly cpuMs: number;
  readonly restMiB: number;
}

/** Starts the command, and waits until it prints what says that it serves. */
async function start(
  args: readonly string[],
  stream: 'stdout' | 'stderr',
  sign: RegExp,
): Promise<{ child: ChildProcess; readyMs: number; cpuMs: number; said: RegExpExecArray }> {
  const begin = performance.now();
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
  const child = spawn(SLUICE, args, { env, stdio: 'pipe' });
  child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  child[stream === 'stdout' ? 'stderr' : 'stdout'].resume();
  let text = '';
  for await (const piece of child[stream].iterator({ destroyOnReturn: false })) {
    text += String(piece);
    const said = sign.exec(text);
    if (said === null) continue;
    child[stream].resume();
    const cpuMs = sampleProcess(child.pid ?? 0).cpuMicros / 1000;
    return { child, readyMs: performance.now() - begin, cpuMs, said };
  }
  throw new Error(`${args[0]} ended: ${text}`);
}

async function measure(
  args: readonly string[],
  stream: 'stdout' | 'stderr',
  sign: RegExp,
  meanwhile?: (said: RegExpExecArray) => Promise<void>,
): Promise<Footprint> {
  const { child, readyMs, cpuMs, said } = await start(args, stream, sign);
  await delay(REST_MS);
  const restMiB = sampleProcess(child.pid ?? 0).rssBytes / MEBI;
  await meanwhile?.(said);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { readyMs, cpuMs, restMiB };
}

function report(name: string, all: readonly Footprint[]): void {
  const best = (field: keyof Footprint) => Math.min(...all.map((one) => one[field])).toFixed(0);
  process.stdout.write(
    `${name}: ${best('restMiB')} MiB at rest, serves after ${best('readyMs')} ms and ${best('cpuMs')} ms of CPU\n`,
  );
}

const failure = buildSluice();
if (failure !== '') throw new Error(failure);
const scratch = mkdtempSync(join(tmpdir(), 'sluice-footprint-'));
const tools = join(scratch, 'tools.json');
const config = join(scratch, 'sluice.json');
writeFileSync(tools, '{"tools":[]}\n');
const one = { command: '/bin/sh', args: [SERVER, tools] };
writeFileSync(
  config,
  JSON.stringify({ listen: { port: 0 }, admin: { port: 0 }, servers: { one } }),
);
const gateways: Footprint[] = [];
const connects: Footprint[] = [];
for (let run = 0; run < RUNS; run += 1) {
  const ready = /"public","url":"([^"]+)"[\s\S]*"msg":"ready"/;
  const gateway = await measure(['serve', '--config', config], 'stderr', ready, async (said) => {
    connects.push(await measure(['connect', `${said[1]}/mcp`], 'stdout', /"serverInfo"/));
  });
  gateways.push(gateway);
}
rmSync(scratch, { recursive: true });
report('serve with one server', gateways);
report('connect', connects);
