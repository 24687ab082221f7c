// The environment of a child process: a short list of harmless variables, what the user names, and
// nothing else of the gateway's own (docs/reliability.md#e04).

const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'TZ', 'TMPDIR', 'TERM'];

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a child's environment is made of. */
export interface EnvironmentParts {
  /** The gateway's environment. */
  readonly own: Environment;
  /** Further names to take from it. */
  readonly inheritEnv: readonly string[];
  /** Pairs that win over inherited ones. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that say who runs the process, where that is not the gateway's own user. */
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
