// `sluice keys`: makes, lists and revokes API keys. Only this command writes the key file; a running gateway
// reads it again.

import { type ApiKeyRecord, createApiKey } from '../auth/api-keys.ts';
import { KeyFileError, readKeyFile, writeKeyFile } from '../auth/key-file.ts';
import { isoTime, wallClockMs } from '../base/clock.ts';
import { EXIT } from '../base/exit-codes.ts';

const DAY_MS = 86_400_000;

const NAME = /^[\w.@:+-][\w .@:+-]{0,63}$/;
/** The characters of a scope (RFC 6749 3.3); groups may have the same. */
const WORD = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

/** The options of `sluice keys`. */
export interface KeysOptions {
  readonly action: 'add' | 'list' | 'revoke';
  /** Absolute path of the key file. */
  readonly file: string;
  /** The id of the key to revoke. */
  readonly id: string | undefined;
  readonly name: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  /** `90d`, or a date. */
  readonly expires: string | undefined;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * Runs the command.
 * @returns the exit status
 */
export function runKeys(options: KeysOptions): number {
  try {
    switch (options.action) {
      case 'add':
        return add(options);
      case 'list':
        return list(options);
      case 'revoke':
        return revoke(options);
    }
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    options.err(`sluice: ${error.message}\n`);
    return EXIT.failure;
  }
}

function add(options: KeysOptions): number {
  const { name, groups, scopes, file } = options;
  const expires = options.expires === undefined ? undefined : expiryOf(options.expires);
  const problem = problemOf(options, expires);
  if (problem !== undefined) {
    options.err(`sluice: ${problem}\nSee sluice keys --help\n`);
    return EXIT.usage;
  }
  const { id, key, sha256 } = createApiKey();
  const record: ApiKeyRecord = {
    id,
    name,
    sha256,
    groups,
    scopes,
    created: isoTime(wallClockMs()),
    ...(expires === undefined ? {} : { expires }),
  };
  writeKeyFile(file, [...(readKeyFile(file) ?? []), record]);
  options.out(`${key}\n`);
  options.err(`Key ${id} was added to ${file}. It is shown only now: only its hash is kept.\n`);
  return EXIT.ok;
}

function list({ file, out }: KeysOptions): number {
  const nowMs = wallClockMs();
  const rows = (readKeyFile(file) ?? []).map((key) => [
    key.id,
    key.name,
    key.groups.join(',') || '-',
    key.scopes.join(',') || '-',
    key.created.slice(0, 10),
    key.expires === undefined ? 'never' : `${key.expires.slice(0, 10)}${endedMark(key, nowMs)}`,
  ]);
  const table = [['ID', 'NAME', 'GROUPS', 'SCOPES', 'CREATED', 'EXPIRES'], ...rows];
  const widths = table.reduce<number[]>(
    (most, row) => row.map((cell, at) => Math.max(cell.length, most[at] ?? 0)),
    [],
  );
  for (const row of table) {
    out(
      `${row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    );
  }
  return EXIT.ok;
}

function revoke({ file, id, err }: KeysOptions): number {
  const keys = readKeyFile(file) ?? [];
  const left = keys.filter((key) => key.id !== id);
  if (left.length === keys.length) {
    err(`sluice: there is no key ${id} in ${file}: see sluice keys list\n`);
    return EXIT.failure;
  }
  writeKeyFile(file, left);
  err(`Key ${id} was revoked. A running gateway refuses it within a second.\n`);
  return EXIT.ok;
}

function problemOf(options: KeysOptions, expires: string | undefined): string | undefined {
  if (!NAME.test(options.name)) {
    return '--name must be 1 to 64 letters, digits, spaces or . _ - @ : +';
  }
  const isFine = [...options.groups, ...options.scopes].every((word) => WORD.test(word));
  if (!isFine) return '--group and --scope must be words without spaces and quotes';
  if (options.expires !== undefined && expires === undefined) {
    return '--expires must be days such as 90d, or a date in the future such as 2027-01-31';
  }
  return undefined;
}

/** @returns RFC 3339; undefined if it is not a time in the future */
function expiryOf(text: string): string | undefined {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const isDate = /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text);
  const ms =
    days === undefined ? Date.parse(isDate ? text : '') : wallClockMs() + Number(days) * DAY_MS;
  return ms > wallClockMs() ? isoTime(ms) : undefined;
}

function endedMark({ expires }: ApiKeyRecord, nowMs: number): string {
  return expires !== undefined && Date.parse(expires) <= nowMs ? ' (over)' : '';
}
