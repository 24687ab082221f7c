// The sources of the daemon as the architecture tests see them: path, text, imports. Reads the import
// specifiers from the text, so type-only imports count like any other.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, sep } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

export interface SourceFile {
  /** Relative to `src/`, with forward slashes. */
  readonly path: string;
  /** The folder that the layer table speaks of; `main` for main.ts. */
  readonly layer: string;
  readonly text: string;
  /** The text with comments blanked out; lines keep their numbers. */
  readonly code: string;
  readonly imports: readonly Import[];
}

export interface Import {
  /** As written. */
  readonly specifier: string;
  /** Whether nothing of it is left when the program runs. */
  readonly isTypeOnly: boolean;
  /** Whether it is loaded with the file. */
  readonly isStatic: boolean;
}

/** A file at the top of the repository. */
export function readRootFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Every file under `src/`. */
export function sourceFiles(): readonly SourceFile[] {
  const folder = join(ROOT, 'src');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .map((path) => {
      const text = readFileSync(join(folder, path), 'utf8');
      const code = withoutComments(text);
      return { path, layer: layerOf(path), text, code, imports: importsOf(code) };
    });
}

/** The layer of a path relative to `src/`. */
export function layerOf(path: string): string {
  const [folder = ''] = path.split('/');
  return folder === 'main.ts' ? 'main' : folder;
}

/**
 * Where a specifier leads.
 * @returns a path relative to `src/`; undefined for a package
 */
export function target(file: SourceFile, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(dirname(file.path), specifier);
}

// Comments of this code base are whole lines, or stand behind two spaces or a space at a line's end.
function withoutComments(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ''))
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

function importsOf(code: string): Import[] {
  const statements = /^(?:import|export)\b( type\b)?[^;]*?\bfrom '([^']+)'|^import '([^']+)'/gm;
  const dynamic = /\b(?:import|require|getBuiltinModule)\(\s*'([^']+)'/g;
  return [
    ...[...code.matchAll(statements)].map(([, type, from, bare]) => ({
      specifier: from ?? bare ?? '',
      isTypeOnly: type !== undefined,
      isStatic: true,
    })),
    ...[...code.matchAll(dynamic)].map(([, from = '']) => ({
      specifier: from,
      isTypeOnly: false,
      isStatic: false,
    })),
  ];
}
