// What the installed program is started with: the first line of bin/sluice.js says it.
import { readFileSync } from 'node:fs';

const FIRST_LINE = /^#!\/usr\/bin\/env -S (?<words>.+)$/m;

/** Environment variables (`NAME=value`) and arguments of Node that `sluice` starts itself with. */
export interface ProgramFlags {
  readonly variables: readonly string[];
  readonly nodeArgs: readonly string[];
}

/**
 * Reads them.
 * @throws Error when the program begins in another way
 */
export function programFlags(): ProgramFlags {
  const program = readFileSync(new URL('../../bin/sluice.js', import.meta.url), 'utf8');
  const words = FIRST_LINE.exec(program)?.groups?.['words']?.split(' ') ?? [];
  const node = words.indexOf('node');
  if (node < 0) throw new Error('bin/sluice.js does not start node');
  return { variables: words.slice(0, node), nodeArgs: words.slice(node + 1) };
}
