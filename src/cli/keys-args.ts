// Parses the command line of `sluice keys`.
import { parseArgs } from 'node:util';

/** `sluice keys`. */
export interface KeysInvocation {
  readonly kind: 'keys';
  readonly action: 'add' | 'list' | 'revoke';
  readonly config?: string;
  /** Used instead of the configured file. */
  readonly file: string | undefined;
  readonly id: string | undefined;
  readonly name: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  readonly expires: string | undefined;
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  config: { type: 'string', short: 'c' },
  file: { type: 'string', short: 'f' },
  name: { type: 'string', short: 'n' },
  group: { type: 'string', short: 'g', multiple: true },
  scope: { type: 'string', multiple: true },
  expires: { type: 'string' },
} as const;

/**
 * Parses the words after `keys`.
 * @returns `help`, what is wrong, or what to do
 * @throws TypeError of parseArgs, with a sentence for the user
 */
export function parseKeys(words: readonly string[]): KeysInvocation | 'help' | { problem: string } {
  const { values, positionals } = parseArgs({
    args: [...words],
    options: OPTIONS,
    allowPositionals: true,
  });
  if (values.help === true) return 'help';
  const [action, id, ...more] = positionals;
  if (action !== 'add' && action !== 'list' && action !== 'revoke') {
    return { problem: 'no action given: must be add, list or revoke' };
  }
  if (more.length > 0 || (id !== undefined) !== (action === 'revoke')) {
    const problem =
      action === 'revoke'
        ? 'give the id of one key'
        : `unexpected argument "${id}" after ${action}`;
    return { problem };
  }
  if (action === 'add' && values.name === undefined) {
    return { problem: 'no name given: name the key with --name NAME' };
  }
  return {
    kind: 'keys',
    action,
    file: values.file,
    id,
    name: values.name ?? '',
    groups: values.group ?? [],
    scopes: values.scope ?? [],
    expires: values.expires,
    ...(values.config === undefined ? {} : { config: values.config }),
  };
}
