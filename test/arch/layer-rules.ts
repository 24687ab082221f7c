// The layer table (layers.json) as lint rules, so that an editor shows a violation at once. Run as
// `node test/arch/layer-rules.ts` it writes them to biome.layers.json, which biome.json extends;
// layers.test.ts compares.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import layers from './layers.json' with { type: 'json' };

export type LayerTable = Readonly<Record<string, readonly string[]>>;

/** Which folder of `src/` may import which others. */
export const LAYERS: LayerTable = { main: ['cli'], ...layers };

interface Override {
  readonly includes: readonly string[];
  readonly linter: { readonly rules: { readonly style: Record<string, unknown> } };
}

/** One override a folder: what it may not import. */
function layerOverrides(table: LayerTable): readonly Override[] {
  const folders = Object.keys(table);
  return folders.map((folder) => {
    const allowed = table[folder] ?? [];
    const forbidden = folders.filter((other) => other !== folder && !allowed.includes(other));
    return {
      includes: [folder === 'main' ? 'src/main.ts' : `src/${folder}/**`],
      linter: { rules: { style: { noRestrictedImports: restriction(folder, forbidden) } } },
    };
  });
}

function restriction(folder: string, forbidden: readonly string[]): unknown {
  const group = forbidden.map((other) => (other === 'main' ? '**/main.ts' : `**/${other}/**`));
  const message = `${folder} may not import this: see test/arch/layers.json.`;
  return { level: 'error', options: { patterns: [{ group, message }] } };
}

/** The text of biome.layers.json. */
export function layerConfiguration(): string {
  const $schema = './node_modules/@biomejs/biome/configuration_schema.json';
  return `${JSON.stringify({ $schema, overrides: layerOverrides(LAYERS) }, undefined, 2)}\n`;
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, '../../biome.layers.json'), layerConfiguration());
}
