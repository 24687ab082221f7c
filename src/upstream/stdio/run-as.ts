// Another user for a child process (docs/security.md#servers): looks it up, checks whether the gateway may
// start processes as this user, and which files of the gateway it could read. Uses only /etc/passwd and
// /etc/group.
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The user of a process. */
export interface RunAs {
  /** As configured. */
  readonly user: string | number;
  readonly group: string | number | undefined;
  readonly uid: number;
  readonly gid: number;
  /** The values of HOME, USER and LOGNAME; undefined if the system does not know the user. */
  readonly home: string | undefined;
  readonly name: string | undefined;
}

const MAX_ID = 4_294_967_294;
/** KILL, to end such a process, SETGID and SETUID (capabilities(7)). */
const NEEDED = (1n << 5n) | (1n << 6n) | (1n << 7n);
const READ = 0o4;
const SEARCH = 0o1;

/** The variables that depend on the user; undefined ones are not set. */
export function userVariables(runAs: RunAs): Record<string, string | undefined> {
  const { home, name } = runAs;
  return { HOME: home, USER: name, LOGNAME: name };
}

/**
 * Whether a user could read a file, by mode and owner of it and of the folders above it. Access control lists
 * are not checked.
 * @param path absolute
 * @returns false if there is no such file
 */
export function mayRead(runAs: RunAs, path: string): boolean {
  if (!allows(runAs, path, READ)) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (!allows(runAs, folder, SEARCH)) return false;
    if (folder === dirname(folder)) return true;
  }
}

function allows({ uid, gid }: RunAs, path: string, right: number): boolean {
  let found: ReturnType<typeof statSync>;
  try {
    found = statSync(path);
  } catch {
    return false;
  }
  if (uid === 0) return true;
  if (found.uid === uid) return (found.mode & (right << 6)) !== 0;
  if (found.gid === gid) return (found.mode & (right << 3)) !== 0;
  return (found.mode & right) !== 0;
}

/**
 * Looks up a user.
 * @returns the user, or a sentence about what is wrong
 */
export function resolveUser(
  user: string | number,
  group: string | number | undefined,
): RunAs | string {
  const entry = lineOf('/etc/passwd', user);
  if (entry === undefined && !isId(user)) {
    return `is not a user in /etc/passwd ("${user}"): must be one of its names, or a number`;
  }
  const uid = Number(entry?.[2] ?? user);
  const gid = group === undefined ? Number(entry?.[3] ?? Number.NaN) : groupId(group);
  if (Number.isNaN(gid)) {
    return group === undefined
      ? `has a user without a group in /etc/passwd ("${user}"): must have group too`
      : `has a group that is not in /etc/group ("${group}"): must be one of its names, or a number`;
  }
  const lacking = lackingRight(uid, gid);
  if (lacking !== undefined) return lacking;
  return { user, group, uid, gid, home: entry?.[5] || undefined, name: entry?.[0] };
}

function groupId(group: string | number): number {
  return isId(group) ? Number(group) : Number(lineOf('/etc/group', group)?.[2] ?? Number.NaN);
}

/** The fields of a user or group. */
function lineOf(file: string, nameOrId: string | number): string[] | undefined {
  const key = String(nameOrId);
  const lines = textOf(file).split('\n');
  const entries = lines.map((line) => line.split(':'));
  return entries.find(([name, , number]) => (isId(key) ? number === key : name === key));
}

/** Whether it is a numeric id. */
export function isId(value: string | number): boolean {
  const number = /^\d{1,10}$/.test(String(value)) ? Number(value) : Number.NaN;
  return number <= MAX_ID;
}

/** Why this process can't start others as that user, as a sentence. */
function lackingRight(uid: number, gid: number): string | undefined {
  if (process.geteuid?.() === uid && process.getegid?.() === gid) return undefined;
  if (process.platform === 'win32') return 'is not supported on this system: remove it';
  const status = textOf('/proc/self/status');
  const mask = (name: string): bigint | undefined => {
    const digits = new RegExp(`^${name}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1];
    return digits === undefined ? undefined : BigInt(`0x${digits}`);
  };
  // Every process that the gateway starts would keep these capabilities, and could become any user.
  if ((mask('CapAmb') ?? 0n) !== 0n) {
    return 'is not safe with ambient capabilities, which the process would keep: must start the gateway as root, or with capabilities of its file (setcap) instead';
  }
  const own = mask('CapEff');
  const isAllowed = own === undefined ? process.geteuid?.() === 0 : (own & NEEDED) === NEEDED;
  if (isAllowed) return undefined;
  return 'needs a gateway that runs as root, or with CAP_SETUID, CAP_SETGID and CAP_KILL: remove it, or start the gateway so';
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
