// `${NAME}`, `${NAME:-default}` and `${file:PATH}` inside one string value. Works on values that the
// YAML parser has already cut out, never on the text of the file, so a value can't add keys.
import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';

/** The largest secret file, in bytes. */
const MAX_SECRET_BYTES = 64 * 1024;

/** Where names and relative paths of files are looked up. */
export interface InterpolationSource {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute; start of relative paths in `${file:...}`. */
  readonly folder: string;
}

/** What became of one string. */
export interface Interpolated {
  readonly value: string;
  /** Texts that came from outside the file; defaults are not among them. */
  readonly secrets: readonly string[];
  /** The references as written, `${NAME}`. */
  readonly references: readonly string[];
  readonly problems: readonly string[];
}

/**
 * The variables of the gateway's own process.
 *
 * @returns the live environment
 */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/**
 * Replaces the references in a string. `$${` stands for a literal `${`.
 *
 * @param text the string as the file has it
 * @param source where to look things up
 * @returns the new string, or problems as sentences that never contain a secret
 */
export function interpolate(text: string, source: InterpolationSource): Interpolated {
  const secrets: string[] = [];
  const references: string[] = [];
  const problems: string[] = [];
  const value = text.replace(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, body: string | undefined, end) => {
    if (body === undefined) {
      return '${';
    }
    if (end === '') {
      problems.push('has a ${ without }: close it, or write $${ for a literal ${');
      return whole;
    }
    const found = lookUp(body, source);
    if ('problem' in found) {
      problems.push(found.problem);
      return whole;
    }
    references.push(whole);
    if (found.isSecret && found.value !== '') {
      secrets.push(found.value);
    }
    return found.value;
  });
  return { value, secrets, references, problems };
}

type Found = { value: string; isSecret: boolean } | { problem: string };

function lookUp(body: string, source: InterpolationSource): Found {
  if (body.startsWith('file:')) {
    return readSecret(body.slice('file:'.length), source.folder);
  }
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
  if (fallback !== undefined) {
    return { value: fallback, isSecret: false };
  }
  return {
    problem: `needs the environment variable ${name}, which is not set: set it, or give a default with \${${name}:-default}`,
  };
}

function readSecret(path: string, folder: string): Found {
  const refuse = (why: string): Found => ({ problem: `has \${file:${path}}, but ${why}` });
  if (path === '' || path.includes('\0')) {
    return refuse('there is no path: must be ${file:/path}');
  }
  try {
    const file = readBounded(resolve(folder, path), MAX_SECRET_BYTES);
    if (typeof file === 'string') {
      return refuse(file);
    }
    const value = new TextDecoder('utf-8', { fatal: true }).decode(file).replace(/\r?\n$/, '');
    return { value, isSecret: true };
  } catch (error) {
    return refuse(describeReadError(error));
  }
}

/**
 * Reads a file that must not be larger than a bound. Pipes and devices are read to the bound too.
 *
 * @param path absolute
 * @param maxBytes the bound
 * @returns the bytes, or why the file is refused
 * @throws what the file system throws
 */
export function readBounded(path: string, maxBytes: number): Buffer | string {
  const handle = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (;;) {
      const count = readSync(handle, bytes, length, bytes.length - length, null);
      length += count;
      if (length > maxBytes) {
        return `it is larger than ${maxBytes / 1024} KiB`;
      }
      if (count === 0) {
        return bytes.subarray(0, length);
      }
    }
  } finally {
    closeSync(handle);
  }
}

/**
 * Says why a file could not be read.
 *
 * @param error what was thrown
 * @returns the end of a sentence that starts with "but"
 */
export function describeReadError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'it may not be read: check its owner and mode';
    case 'EISDIR':
      return 'it is a folder';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'it is not UTF-8 text';
    default:
      return `it can't be read${typeof code === 'string' ? ` (${code})` : ''}`;
  }
}
