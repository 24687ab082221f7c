/** The fenced blocks of README.md and docs/*.md, to be tried as they are printed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

const FENCE = /^```([^\n]*)\n([\s\S]*?)^```[ \t]*$/gm;

export interface DocBlock {
  /** `README.md:61`, the line of its fence. */
  readonly place: string;
  /** What follows the fence: `yaml`, `bash title=first-call`. */
  readonly info: string;
  readonly body: string;
}

/** The documents, relative to the repository. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** All blocks of a document, in order. */
export function blocksOf(document: string): DocBlock[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return [...text.matchAll(FENCE)].map(({ index, 1: info = '', 2: body = '' }) => ({
    place: `${document}:${text.slice(0, index).split('\n').length}`,
    info: info.trim(),
    body,
  }));
}

/** The blocks in a language, of all documents. */
export function blocksIn(...languages: readonly string[]): DocBlock[] {
  return DOCUMENTS.flatMap(blocksOf).filter(({ info }) =>
    languages.includes(info.split(' ')[0] ?? ''),
  );
}

/** The README's `sluice.yaml`, as it is printed. */
export function readmeConfiguration(): string {
  const block = blocksOf('README.md').find(({ info }) => info === 'yaml');
  if (block === undefined) throw new Error('the README has no configuration');
  return block.body;
}
