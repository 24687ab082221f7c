/**
 * A server whose lists are what a test says, of either era: see test/fixtures/servers/catalog.ts. Its
 * lists change when the test says so, while it runs or before it starts again.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CatalogSpec } from '../fixtures/servers/catalog.ts';
import { fixtureServer, type Journal, type ServerConfig } from './scripted-server.ts';
import { tempDir } from './temp-dir.ts';

export interface CatalogOptions {
  readonly era?: 'legacy' | 'modern';
  /** Further keys of the `servers:` entry. */
  readonly config?: ServerConfig;
}

/** Such a server. */
export class CatalogServer {
  readonly config: ServerConfig;
  readonly journal: Journal;
  readonly #file = join(tempDir(), 'spec.json');
  #spec: CatalogSpec;

  constructor(spec: CatalogSpec, { era = 'legacy', config = {} }: CatalogOptions = {}) {
    this.#spec = spec;
    this.change({});
    const args = ['--spec', this.#file, ...(era === 'modern' ? ['--modern'] : [])];
    const server = fixtureServer('catalog.ts', { args, config });
    this.config = server.config;
    this.journal = server.journal;
  }

  /** From now on the server has other lists; it tells nobody. */
  change(spec: Partial<CatalogSpec>): void {
    this.#spec = { ...this.#spec, ...spec };
    // In one step: the server may read it at any time.
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#spec));
    renameSync(`${this.#file}.new`, this.#file);
  }
}

/** Entries of a list of tools. */
export function tools(...names: string[]): { name: string; inputSchema: { type: 'object' } }[] {
  return names.map((name) => ({ name, inputSchema: { type: 'object' } }));
}
