// Preloaded into the gateway with --import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';

const SAMPLE_MICROS = 1000;
const LEAST_MS = 50;
const LOOK_MS = 100;
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

/** The longest turn so far. */
interface Longest {
  readonly beginMs: number;
  readonly endMs: number;
  readonly cpuMs: number;
}

let lastEnd = monotonicMs();
let lastCpu = cpuMs();
let longest: Longest = { beginMs: 0, endMs: 0, cpuMs: LEAST_MS };

function turn(): void {
  const end = monotonicMs();
  const spent = cpuMs() - lastCpu;
  if (spent > longest.cpuMs && existsSync(`${file}.begin`)) {
    longest = { beginMs: lastEnd, endMs: end, cpuMs: spent };
  }
  lastEnd = end;
  lastCpu += spent;
}

/** Not before: to stop takes long itself. */
function endWhenTold(): void {
  if (!existsSync(`${file}.end`)) return;
  clearInterval(turns);
  clearInterval(looks);
  session.post('Profiler.stop', (_, result) => {
    const text = longest.endMs === 0 || result === undefined ? '' : describe(result.profile);
    writeFileSync(`${file}.part`, text);
    // So that nobody reads the half of it.
    renameSync(`${file}.part`, file);
  });
}

/** Where the time of the longest turn went: the heaviest way from the top, then the functions themselves. */
function describe(profile: Profiler.Profile): string {
  const nodes = linked(profile);
  let at = profile.startTime / 1000;
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const deltaMs = (profile.timeDeltas?.[index] ?? 0) / 1000;
    at += deltaMs;
    const node = nodes.get(id);
    if (at < longest.beginMs || at > longest.endMs + 2 || node === undefined) continue;
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

session.post('Profiler.start');
const turns = setInterval(turn, 1).unref();
const looks = setInterval(endWhenTold, LOOK_MS).unref();
