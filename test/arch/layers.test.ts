// Who may import whom (layers.json): a folder knows only what is below it. biome.layers.json says the
// same to editors; this test is the one that can't be switched off.
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LAYERS, layerConfiguration } from './layer-rules.ts';
import { layerOf, readRootFile, type SourceFile, sourceFiles, target } from './sources.ts';

const files = sourceFiles();
/** Layers without any arrow upwards inside. */
const FLAT = ['upstream'];

interface Edge {
  readonly from: SourceFile;
  readonly to: string;
  readonly isTypeOnly: boolean;
}

const edges: readonly Edge[] = files.flatMap((from) =>
  from.imports.flatMap(({ specifier, isTypeOnly }) => {
    const to = target(from, specifier);
    return to === undefined ? [] : [{ from, to, isTypeOnly }];
  }),
);

describe('layers', () => {
  test('the walk sees the whole program', () => {
    expect(files.length).toBeGreaterThan(90);
    expect(edges.length).toBeGreaterThan(350);
    const paths = new Set(files.map(({ path }) => path));
    expect(edges.filter(({ to }) => !paths.has(to))).toEqual([]);
  });

  test('the walk sees every import', () => {
    // Counted in another way than sources.ts reads them.
    const seen = files.map(({ path, imports }) => `${path} ${imports.length}`);
    const counted = files.map(({ path, code }) => {
      const mentions =
        code.match(
          /^(?:import\b.*|\})? ?(?:.* )?from '[^']*';$|\b(?:import|getBuiltinModule)\('/gm,
        ) ?? [];
      return `${path} ${mentions.length}`;
    });
    expect(seen).toEqual(counted);
  });

  test('every folder is in the table, and nothing else', () => {
    const folders = new Set(files.map(({ layer }) => layer));
    expect([...folders].sort()).toEqual(Object.keys(LAYERS).sort());
  });

  test('every import obeys the table', () => {
    const violations = edges.filter(({ from, to }) => {
      const layer = layerOf(to);
      return layer !== from.layer && LAYERS[from.layer]?.includes(layer) !== true;
    });
    expect(violations.map(({ from, to }) => `${from.path} imports ${to}`)).toEqual([]);
  });

  test('the table has no cycle', () => {
    expect(cycleIn(new Map(Object.entries(LAYERS)))).toBeUndefined();
  });

  test('no two files import each other, over however many steps', () => {
    const graph = new Map<string, string[]>(files.map(({ path }) => [path, []]));
    // Two interfaces of one folder may mention each other: nothing of that is left at run time.
    for (const { from, to, isTypeOnly } of edges) {
      if (!isTypeOnly || layerOf(to) !== from.layer) graph.get(from.path)?.push(to);
    }
    expect(cycleIn(graph)).toBeUndefined();
  });

  test.each(FLAT)('inside %s no two files mention each other, not even their types', (flat) => {
    const graph = new Map<string, string[]>();
    for (const { from, to } of edges) {
      if (from.layer === flat && layerOf(to) === flat) {
        graph.set(from.path, [...(graph.get(from.path) ?? []), to]);
      }
    }
    expect(cycleIn(graph)).toBeUndefined();
  });

  test.each(FLAT)('inside %s a folder knows only those below it', (flat) => {
    const graph = new Map<string, string[]>();
    for (const { from, to } of edges) {
      const [here, there] = [posix.dirname(from.path), posix.dirname(to)];
      if (from.layer === flat && layerOf(to) === flat && here !== there) {
        graph.set(here, [...(graph.get(here) ?? []), there]);
      }
    }
    expect(graph.size).toBeGreaterThan(1);
    expect(cycleIn(graph)).toBeUndefined();
  });

  test('a cycle is found', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['a']],
    ]);
    expect(cycleIn(graph)).toEqual(['a', 'b', 'c', 'a']);
  });

  test('biome.layers.json says the same, and biome.json extends it', () => {
    const { extends: others } = JSON.parse(readRootFile('biome.json')) as { extends: unknown };
    expect(others).toEqual(['./biome.layers.json']);
    const rules = JSON.parse(readRootFile('biome.layers.json')) as unknown;
    const wanted = JSON.parse(layerConfiguration()) as unknown;
    expect(rules, 'run `node test/arch/layer-rules.ts`').toEqual(wanted);
  });

  test('nothing in the sources is exempt from a check', () => {
    const exempt = files.filter(({ text }) => /biome-ignore|lint-disable|@ts-(?!check)/.test(text));
    expect(exempt.map(({ path }) => path)).toEqual([]);
  });
});

/** The first cycle of a graph, or undefined. */
function cycleIn(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): string[] | undefined => {
    if (done.has(node)) return undefined;
    const at = path.indexOf(node);
    if (at >= 0) return [...path.slice(at), node];
    path.push(node);
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const cycle = visit(node);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
