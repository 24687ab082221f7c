// Preloaded into the gateway with --import when it is asked why a turn was long: samples what its main
// thread does, and keeps what was seen in the longest turn. Costs a few percent, so it is not always there.
//
// Usage: node --import 'FILE-URL-OF-THIS?FILE', where FILE is written each time that a turn was the longest
// since there is FILE.begin
import { existsSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';

const SAMPLE_MICROS = 1000;
const LEAST_MS = 50;
/** A profile grows as long as it runs. */
const RESTART_MS = 2_000;
const MOST_LINES = 12;

interface Node {
  readonly profiled: Profiler.ProfileNode;
  readonly parent: Node | undefined;
  selfMs: number;
  totalMs: number;
}

const file = decodeURIComponent(new URL(import.meta.url).search.slice(1));
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS });

function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

let started = 0;
let lastEnd = monotonicMs();
let lastCpu = cpuMs();
let longest = LEAST_MS;

function start(): void {
  started = monotonicMs();
  session.post('Profiler.start');
}

/** Stops; the answer comes before `post` returns. */
function stop(): Profiler.Profile | undefined {
  let profile: Profiler.Profile | undefined;
  session.post('Profiler.stop', (_, result) => {
    profile = result?.profile;
  });
  return profile;
}

function turn(): void {
  const end = monotonicMs();
  const spent = cpuMs() - lastCpu;
  if (spent > longest && existsSync(`${file}.begin`)) {
    longest = spent;
    const profile = stop();
    if (profile !== undefined) writeFileSync(file, describe(profile, lastEnd));
    start();
  } else if (end - started > RESTART_MS) {
    stop();
    start();
  }
  lastEnd = monotonicMs();
  lastCpu = cpuMs();
}

/** Where the time went since `fromMs`: the heaviest way from the top, then the functions themselves. */
function describe(profile: Profiler.Profile, fromMs: number): string {
  const nodes = linked(profile);
  let at = profile.startTime / 1000;
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const deltaMs = (profile.timeDeltas?.[index] ?? 0) / 1000;
    at += deltaMs;
    const node = nodes.get(id);
    if (at < fromMs || node === undefined) continue;
    node.selfMs += deltaMs;
    for (let up: Node | undefined = node; up !== undefined; up = up.parent) up.totalMs += deltaMs;
  }
  const all = [...nodes.values()];
  const heaviest = heaviestPath(all).slice(-MOST_LINES);
  const own = bySelf(all).slice(0, MOST_LINES);
  return [
    ...heaviest.map((node) => `  ${node.totalMs.toFixed(0).padStart(6)} ms in ${nameOf(node)}`),
    ...own.map(([name, ms]) => `  ${ms.toFixed(0).padStart(6)} ms self ${name}`),
    '',
  ].join('\n');
}

function linked(profile: Profiler.Profile): Map<number, Node> {
  const byId = new Map(profile.nodes.map((profiled) => [profiled.id, profiled]));
  const nodes = new Map<number, Node>();
  const add = (id: number, parent: Node | undefined): void => {
    const profiled = byId.get(id);
    if (profiled === undefined) return;
    const node: Node = { profiled, parent, selfMs: 0, totalMs: 0 };
    nodes.set(id, node);
    for (const child of profiled.children ?? []) add(child, node);
  };
  const root = profile.nodes[0];
  if (root !== undefined) add(root.id, undefined);
  return nodes;
}

function heaviestPath(nodes: readonly Node[]): Node[] {
  const path: Node[] = [];
  let top: Node | undefined;
  for (;;) {
    const below = nodes.filter(({ parent }) => parent === top);
    const heaviest = below.sort((a, b) => b.totalMs - a.totalMs)[0];
    if (heaviest === undefined || heaviest.totalMs <= (top?.totalMs ?? 0) / 4) return path;
    path.push(heaviest);
    top = heaviest;
  }
}

function bySelf(nodes: readonly Node[]): [string, number][] {
  const times = new Map<string, number>();
  for (const node of nodes) {
    if (node.selfMs < 1) continue;
    times.set(nameOf(node), (times.get(nameOf(node)) ?? 0) + node.selfMs);
  }
  return [...times].sort(([, a], [, b]) => b - a);
}

function nameOf({ profiled }: Node): string {
  const { functionName, url, lineNumber } = profiled.callFrame;
  const name = functionName === '' ? '(anonymous)' : functionName;
  const short = url.replace(/^.*\/(src|node_modules)\//, '$1/');
  return url === '' ? name : `${name} (${short}:${lineNumber + 1})`;
}

start();
setInterval(turn, 1).unref();
