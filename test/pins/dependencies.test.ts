/**
 * H06, H07, H08: what is installed. Versions are those of the lock file, and none is older than the one
 * that mended what is known (dependency-floors.json: one floor for each line that still gets repairs).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const json = (file: string): unknown => JSON.parse(read(file));

interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

interface Manifest {
  readonly engines: { readonly node: string };
  readonly allowScripts: Readonly<Record<string, boolean>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const floors = json('test/pins/dependency-floors.json') as Record<string, string[]>;
const manifest = json('package.json') as Manifest;
const { packages } = json('package-lock.json') as { packages: Record<string, Locked> };
const locked = Object.entries(packages)
  .filter(([path]) => path !== '')
  .map(([path, entry]) => ({
    ...entry,
    path,
    // A package under another name says which it is.
    name: entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  }));

const numbers = (version: string): number[] => version.split(/[.-]/).slice(0, 3).map(Number);

/** Whether a version is not older than the floor of its line; a line without a floor must be a newer one. */
function isMended(version: string, lines: readonly string[]): boolean {
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  const floor = lines.map(numbers).find(([line]) => line === major);
  if (floor === undefined) return lines.every((line) => major > (numbers(line)[0] ?? 0));
  const [, least = 0, lastly = 0] = floor;
  return minor > least || (minor === least && patch >= lastly);
}

it.each([
  ['6.26.9', false],
  ['6.27.0', true],
  ['7.27.99', false],
  ['8.5.0', true],
  ['5.99.0', false],
  ['9.0.0', true],
])('%s is mended where 6.27 and 8.5 are: %s', (version, expected) => {
  expect(isMended(version, ['6.27.0', '7.28.0', '8.5.0'])).toBe(expected);
});

describe('what the lock file names', () => {
  it.each(Object.entries(floors))('H07 has no %s older than %s', (name, lines) => {
    // What only a tool of the tests has for itself is neither shipped nor reached from outside.
    const used = locked.filter((one) => one.dev !== true || one.path === `node_modules/${name}`);
    const old = used.filter((one) => one.name === name && !isMended(one.version ?? '', lines));
    expect(old).toEqual([]);
  });

  it('H07 has a floor for nothing that can not be found any more', () => {
    // js-yaml came with packages that have left; it must not come back old.
    const gone = Object.keys(floors).filter((name) => !locked.some((one) => one.name === name));
    expect(gone).toEqual(['js-yaml']);
  });

  it('H08 is known by a hash of its content', () => {
    const unknown = locked.filter(({ integrity }) => !/^sha512-/.test(integrity ?? ''));
    expect(unknown.map(({ path }) => path)).toEqual([]);
    expect(locked.filter(({ link }) => link === true)).toEqual([]);
  });

  it('H08 comes from one place, over TLS', () => {
    const places = locked.flatMap(({ resolved }) => resolved ?? []).map((url) => new URL(url));
    expect(places.filter(({ protocol }) => protocol !== 'https:')).toEqual([]);
    expect(new Set(places.map(({ origin }) => origin)).size).toBeLessThanOrEqual(1);
  });

  it('H08 runs no script when it is installed, but for what is allowed to', () => {
    const scripted = locked.filter(({ hasInstallScript }) => hasInstallScript === true);
    const allowed = Object.keys(manifest.allowScripts).filter(
      (name) => manifest.allowScripts[name],
    );
    expect(scripted.map(({ name }) => name)).toEqual(allowed);
    expect(allowed.filter((name) => name in manifest.dependencies)).toEqual([]);
  });
});

describe('what the manifest names', () => {
  it('H08 is one version of each, never a range, an address or a file', () => {
    const asked = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    const vague = asked.filter(
      ([, version]) => !/^(npm:[^ ]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(vague).toEqual([]);
  });

  it('H06 is a Node that still gets repairs, in the image too', () => {
    // Each line of Node that still gets repairs, from the release on that has those that are known.
    const [newest = '', ...older] = (floors['node'] ?? []).toReversed();
    const ranges = [...older.toReversed().map((floor) => `^${floor}`), `>=${newest}`];
    expect(manifest.engines.node).toBe(ranges.join(' || '));
    const images = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(new Set(images)).toEqual(
      new Set([`node:${read('.node-version').trim()}-bookworm-slim`]),
    );
    for (const version of [read('.node-version').trim(), manifest.devDependencies['node'] ?? '']) {
      expect(isMended(version, floors['node'] ?? []), version).toBe(true);
    }
  });

  it('H08 the image installs what is locked, without scripts', () => {
    const installs = [...read('Dockerfile').matchAll(/npm (?:ci|install|prune)[^&\n]*/g)].flat();
    expect(installs.length).toBeGreaterThan(0);
    for (const install of installs) expect(install).toContain('--ignore-scripts');
    expect(read('Dockerfile')).not.toMatch(/npm install/);
  });
});
