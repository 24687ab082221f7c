// The environment of a child process: a short list of harmless variables, those that the user configures, and
// nothing else of the gateway's (docs/reliability.md#e04). Some values are made at each start, from files and
// from claims of the client of a private process. Values are never part of a message or a log line.

import { readSecretFile, UnusableFile } from '../../base/bounded-file.ts';
import {
  type FilePart,
  isOfPrincipal,
  type PrincipalPart,
  rendered,
  type TextTemplate,
  writtenPart,
} from '../../base/text-template.ts';
import { FAILURES } from '../../mcp/failures.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Principal } from '../../ports/principal.ts';

const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'TZ', 'TMPDIR', 'TERM'];

/** The system allows 128 KiB; no claim needs more than this. */
const MAX_CLAIM_LENGTH = 8 * 1024;

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a child's environment is made of. */
export interface EnvironmentParts {
  /** The gateway's environment. */
  readonly own: Environment;
  /** More names to take from it. */
  readonly inheritEnv: readonly string[];
  /** Variables that replace inherited ones. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the user that runs the process, if it is another one. */
  readonly ofUser?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Builds a child's environment. */
export function childEnvironment(parts: EnvironmentParts): Record<string, string> {
  const { own, inheritEnv, env, ofUser } = parts;
  const result: Record<string, string> = {};
  const locale = Object.keys(own).filter((name) => name.startsWith('LC_'));
  for (const name of [...INHERITED, ...locale]) {
    const value = ofUser !== undefined && name in ofUser ? ofUser[name] : own[name];
    if (value !== undefined) result[name] = value;
  }
  for (const name of inheritEnv) {
    const value = own[name];
    if (value !== undefined) result[name] = value;
  }
  return { ...result, ...env };
}

type EnvironmentTemplates = Readonly<Record<string, TextTemplate>>;

/** The server and the client of a process. */
export interface EnvironmentOwner {
  readonly server: string;
  /** Undefined for a shared process. */
  readonly principal: Principal | undefined;
}

/**
 * The variables that depend on the client.
 * @throws GatewayError if the client lacks something
 */
export function principalVariables(
  envTemplates: EnvironmentTemplates,
  owner: EnvironmentOwner,
): Record<string, string> {
  const own = Object.entries(envTemplates).filter(([, text]) => isOfPrincipal(text));
  return Object.fromEntries(own.map(([name, text]) => [name, textOf(text, owner, seen)]));
}

/**
 * All variables.
 * @throws GatewayError if the client lacks something
 */
export function renderedVariables(
  envTemplates: EnvironmentTemplates,
  owner: EnvironmentOwner,
  logger: Logger,
): Record<string, string> {
  const read = (part: FilePart): string => current(part, logger);
  const all = Object.entries(envTemplates);
  return Object.fromEntries(all.map(([name, text]) => [name, textOf(text, owner, read)]));
}

function seen(part: FilePart): string {
  return part.seen;
}

// If a file can't be read, the old content is used, which may still be right.
function current(part: FilePart, logger: Logger): string {
  try {
    return readSecretFile(part.path);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    logger.warn(
      { path: part.path, why: error.message },
      'secret not read again, the old one stays',
    );
    return part.seen;
  }
}

function textOf(
  text: TextTemplate,
  owner: EnvironmentOwner,
  read: (part: FilePart) => string,
): string {
  return rendered(text, (part) => (part.kind === 'file' ? read(part) : ofPrincipal(part, owner)));
}

function ofPrincipal(part: PrincipalPart, { server, principal }: EnvironmentOwner): string {
  const value = part.kind === 'name' ? principal?.name : claimOf(principal, part.claim);
  const text = plainText(value);
  const fault = faultOf(value, text);
  if (fault === undefined && text !== undefined) return text;
  const what = `is started with ${writtenPart(part)} of its client, and yours ${fault}.`;
  throw FAILURES.unavailable(server, what);
}

function claimOf(principal: Principal | undefined, claim: string): unknown {
  const claims = principal?.claims ?? {};
  return Object.hasOwn(claims, claim) ? claims[claim] : undefined;
}

function plainText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? `${value}` : undefined;
}

function faultOf(value: unknown, text: string | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return 'is missing';
  if (text === undefined) return 'is not one text';
  if (text.includes('\0')) return 'has a NUL character';
  return text.length > MAX_CLAIM_LENGTH ? 'is too long' : undefined;
}
