// The environment of a child process: a short list of harmless variables, what the user names, and
// nothing else of the gateway's own (reliability.md E04).

const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'TZ', 'TMPDIR', 'TERM'];

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Builds a child's environment.
 * @param own the gateway's environment
 * @param inheritEnv further names to take from it
 * @param env pairs that win over inherited ones
 */
export function childEnvironment(
  own: Environment,
  inheritEnv: readonly string[],
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const result: Record<string, string> = {};
  const locale = Object.keys(own).filter((name) => name.startsWith('LC_'));
  for (const name of [...INHERITED, ...locale, ...inheritEnv]) {
    const value = own[name];
    if (value !== undefined) result[name] = value;
  }
  return { ...result, ...env };
}
