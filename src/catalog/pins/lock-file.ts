// The file of accepted tool definitions. It is next to the configuration, in version control. So it is
// sorted, has one member on each line, and shows invisible characters. Each definition has its digest. If
// they don't match, the file was edited by hand or merged badly, and is not used.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { readBoundedFile } from '../../base/bounded-file.ts';
import { codeOf, messageOf, UserFileError } from '../../base/errors.ts';
import { type Member, membersOf } from '../../jsonrpc/members.ts';
import { isObject, parseSpan } from '../../jsonrpc/parse.ts';
import { compareCodeUnits, visibleString } from './canonical-json.ts';
import { type Definition, definitionOf } from './definition.ts';

const VERSION = 1;
const MAX_BYTES = 64 * 1024 * 1024;
const READABLE_BY_ALL = 0o644;
const TOOL_INDENT = '      ';
const DEFINITION_INDENT = '        ';

/** The accepted definitions by tool name. */
export type PinnedTools = ReadonlyMap<string, Definition>;
/** The tools by server name. */
export type Lock = ReadonlyMap<string, PinnedTools>;

/** A lock file that can't be used. */
export class LockFileError extends UserFileError {
  override readonly name = 'LockFileError';
}

/** The path of the lock file for a configuration file: `sluice.lock.json` for `sluice.yaml`. */
export function lockFileOf(configFile: string): string {
  return join(dirname(configFile), `${basename(configFile, extname(configFile))}.lock.json`);
}

/**
 * Reads a lock file. A file that does not exist is empty.
 * @throws LockFileError if it can't be used
 */
export function readLockFile(path: string): Lock {
  let text: Buffer;
  try {
    text = readBoundedFile(path, MAX_BYTES);
  } catch (error) {
    if (error instanceof Error && codeOf(error.cause) === 'ENOENT') return new Map();
    throw new LockFileError(`${path}: can't be read: ${messageOf(error)}`, { cause: error });
  }
  return parseLock(path, text);
}

/**
 * Writes a lock file, completely or not at all.
 * @throws Error if it can't be written
 */
export function writeLockFile(path: string, lock: Lock): void {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    const file = openSync(draft, 'w', READABLE_BY_ALL);
    try {
      writeSync(file, lockText(lock));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** The text of a lock file. Equal contents have equal texts. */
export function lockText(lock: Lock): string {
  const servers = sorted(lock).map(([server, tools]) => {
    const entries = sorted(tools).map(
      ([name, { digest, text }]) =>
        `${TOOL_INDENT}${visibleString(name)}: {\n` +
        `${DEFINITION_INDENT}"digest": ${visibleString(digest)},\n` +
        `${DEFINITION_INDENT}"definition": ${text.replaceAll('\n', `\n${DEFINITION_INDENT}`)}\n` +
        `${TOOL_INDENT}}`,
    );
    return `    ${visibleString(server)}: ${block(entries, '    ')}`;
  });
  return `{\n  "version": ${VERSION},\n  "servers": ${block(servers, '  ')}\n}\n`;
}

function block(entries: readonly string[], indent: string): string {
  return entries.length === 0 ? '{}' : `{\n${entries.join(',\n')}\n${indent}}`;
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([left], [right]) => compareCodeUnits(left, right));
}

function parseLock(path: string, text: Buffer): Lock {
  const fail = (what: string): never => {
    throw new LockFileError(
      `${path}: ${what}; restore it, or remove it and accept all tools anew with sluice pin`,
    );
  };
  let content: unknown;
  try {
    content = parseSpan(text, 0, text.length);
  } catch (error) {
    return fail(`is not JSON: ${messageOf(error)}`);
  }
  if (!isObject(content) || content['version'] !== VERSION || !isObject(content['servers'])) {
    return fail(`is no lock file of version ${VERSION}`);
  }
  const lock = new Map<string, PinnedTools>();
  for (const server of membersIn(text, memberIn(text, wholeOf(text), 'servers'))) {
    const tools = new Map<string, Definition>();
    for (const tool of membersIn(text, server)) {
      const place = `${server.key}, tool ${visibleString(tool.key)}`;
      if (tools.has(tool.key)) return fail(`${place}: duplicate entry`);
      tools.set(
        tool.key,
        readTool(text, tool, (what) => fail(`${place}: ${what}`)),
      );
    }
    if (lock.has(server.key)) return fail(`${server.key}: duplicate entry`);
    lock.set(server.key, tools);
  }
  return lock;
}

function readTool(text: Buffer, tool: Member, fail: (what: string) => never): Definition {
  const span = memberIn(text, tool, 'definition');
  const digest = memberIn(text, tool, 'digest');
  if (span === undefined || digest === undefined) return fail('has no digest or no definition');
  const definition = definitionOf(text.subarray(span.valueStart, span.valueEnd));
  if (definition?.name !== tool.key) return fail('the definition is of another tool');
  const stated = parseSpan(text, digest.valueStart, digest.valueEnd);
  if (definition.digest !== stated) return fail('the digest does not belong to the definition');
  return definition;
}

type Span = Pick<Member, 'valueStart' | 'valueEnd'>;

function wholeOf(text: Buffer): Span {
  return { valueStart: text.indexOf('{'), valueEnd: text.length };
}

function membersIn(text: Buffer, span: Span | undefined): Member[] {
  return span === undefined ? [] : membersOf(text, span.valueStart, span.valueEnd);
}

function memberIn(text: Buffer, span: Span, name: string): Member | undefined {
  return membersIn(text, span).findLast(({ key }) => key === name);
}
