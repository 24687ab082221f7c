// Replaces `${NAME}`, `${NAME:-default}`, `${file:PATH}` and `${principal.name}` in one string. It works on
// values that the YAML parser has found, never on the text of the file, so a value can't add keys.
import { resolve } from 'node:path';
import { readSecretFile, UnusableFile } from '../base/bounded-file.ts';
import { marked } from '../base/text-template.ts';

/** Where variables and relative paths of files are looked up. */
export interface InterpolationSource {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute; the base of relative paths in `${file:...}`. */
  readonly folder: string;
}

/** Which parts of a value may be replaced later, when it is used (base/text-template.ts). */
export type OpenParts = 'none' | 'files' | 'files and principal';

/** The result for one string. */
export interface Interpolation {
  /** Parts that are replaced later are encoded. */
  readonly value: string;
  /** Texts from outside the file, but not defaults. */
  readonly secrets: readonly string[];
  /** The references as they were written, `${NAME}`. */
  readonly references: readonly string[];
  /** The files that were to be read, by their absolute paths. */
  readonly files: readonly string[];
  readonly problems: readonly string[];
}

/** The variables of the gateway's process. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** The variable that names the data folder, if the configuration does not. */
export const DATA_VARIABLE = 'SLUICE_DATA';

/** The data folder in the environment, absolute; undefined if there is none. */
export function dataFolderIn(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const folder = environment[DATA_VARIABLE];
  return folder === undefined || folder === '' ? undefined : resolve(folder);
}

/**
 * Replaces the references in a string. `$${` stands for a literal `${`. Messages about problems never contain
 * a secret.
 */
export function interpolate(
  text: string,
  source: InterpolationSource,
  open: OpenParts = 'none',
): Interpolation {
  const secrets: string[] = [];
  const references: string[] = [];
  const files: string[] = [];
  const problems: string[] = [];
  const value = text.replace(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, body: string | undefined, end) => {
    if (body === undefined) return '${';
    if (end === '') {
      problems.push('has a ${ without }: close it, or write $${ for a literal ${');
      return whole;
    }
    const found = lookUp(body, source, open);
    if (found.file !== undefined) files.push(found.file);
    if ('problem' in found) {
      problems.push(found.problem);
      return whole;
    }
    references.push(whole);
    if (found.isSecret && found.value !== '') {
      secrets.push(found.value);
    }
    return found.marked ?? found.value;
  });
  return { value, secrets, references, files, problems };
}

type LookupResult = { file?: string } & (
  | { value: string; isSecret: boolean; marked?: string }
  | { problem: string }
);

function lookUp(body: string, source: InterpolationSource, open: OpenParts): LookupResult {
  if (body.startsWith('file:')) {
    return readSecret(body.slice('file:'.length), source.folder, open !== 'none');
  }
  if (body.startsWith('principal.')) return ofPrincipal(body, open === 'files and principal');
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/.exec(body);
  const [, name, fallback] = match ?? [];
  if (name === undefined) {
    const meant = body.startsWith('env:') ? `\${${body.slice('env:'.length)}}` : '${NAME}';
    return {
      problem: `has \${${body}}: must be ${meant}, \${NAME:-default} or \${file:/path}, or write $\${ for a literal \${`,
    };
  }
  const value = Object.hasOwn(source.environment, name) ? source.environment[name] : undefined;
  if (value !== undefined && (value !== '' || fallback === undefined)) {
    return { value, isSecret: true };
  }
  if (fallback !== undefined) return { value: fallback, isSecret: false };
  return {
    problem: `needs the environment variable ${name}, which is not set: set it, or give a default with \${${name}:-default}`,
  };
}

function readSecret(path: string, folder: string, isOpen: boolean): LookupResult {
  const problem = (why: string): string => `has \${file:${path}}, but ${why}`;
  if (path === '' || path.includes('\0')) {
    return { problem: problem('there is no path: must be ${file:/path}') };
  }
  const file = resolve(folder, path);
  try {
    const value = readSecretFile(file);
    const part = { kind: 'file', path: file, seen: value } as const;
    return { file, value, isSecret: true, ...(isOpen ? { marked: marked(part) } : {}) };
  } catch (error) {
    if (error instanceof UnusableFile) return { file, problem: problem(error.message) };
    throw error;
  }
}

/** Properties of the client, allowed only for private processes. */
function ofPrincipal(body: string, isOpen: boolean): LookupResult {
  if (!isOpen) {
    return { problem: `has \${${body}}, which only env of a server with a command can have` };
  }
  const claim = /^principal\.claims\.([^\0]+)$/.exec(body)?.[1];
  if (claim === undefined && body !== 'principal.name') {
    return { problem: `has \${${body}}: must be \${principal.name} or \${principal.claims.NAME}` };
  }
  const part = { kind: claim === undefined ? 'name' : 'claim', claim: claim ?? '' } as const;
  return { value: '', isSecret: false, marked: marked(part) };
}
