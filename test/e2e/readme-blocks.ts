/**
 * The commands of README.md that are to work as they are printed: fenced blocks tagged
 * `bash title=first-call`, each with the JSON block that shows its output, if one follows.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { blocksOf } from '../support/doc-blocks.ts';

export interface ReadmeBlock {
  readonly commands: string;
  /** What the README says that they print. */
  readonly output: string | undefined;
}

/** All blocks tagged `title=first-call`, in order. */
export function firstCallBlocks(): ReadmeBlock[] {
  const blocks = blocksOf('README.md');
  return blocks.flatMap(({ info, body }, i) => {
    if (!/^bash\b.*\btitle=first-call\b/.test(info)) return [];
    const next = blocks[i + 1];
    return [{ commands: body, output: next?.info === 'json' ? next.body : undefined }];
  });
}

/**
 * Runs commands in bash, as somebody does who pastes them.
 * @returns what they printed
 * @throws Error with their output when they fail
 */
export async function runInBash(commands: string, cwd?: string): Promise<string> {
  const options = { timeout: 50_000, ...(cwd === undefined ? {} : { cwd }) };
  const { stdout } = await promisify(execFile)('/bin/bash', ['-c', commands], options);
  return stdout;
}
