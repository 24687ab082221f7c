/**
 * The commands of README.md that are to work as they are printed: fenced blocks tagged
 * `bash title=first-call`, each with the JSON block that shows its output, if one follows.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/gateway.ts';

const FENCE = /^```([^\n]*)\n([\s\S]*?)^```[ \t]*$/gm;

export interface ReadmeBlock {
  readonly commands: string;
  /** What the README says that they print. */
  readonly output: string | undefined;
}

/** All blocks tagged `title=first-call`, in order. */
export function firstCallBlocks(): ReadmeBlock[] {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const fences = [...text.matchAll(FENCE)].map(([, info = '', body = '']) => ({ info, body }));
  return fences.flatMap(({ info, body }, i) => {
    if (!/^bash\b.*\btitle=first-call\b/.test(info)) return [];
    const next = fences[i + 1];
    return [{ commands: body, output: next?.info.trim() === 'json' ? next.body : undefined }];
  });
}

/**
 * Runs commands in bash, as somebody does who pastes them.
 * @returns what they printed
 * @throws Error with their output when they fail
 */
export async function runInBash(commands: string): Promise<string> {
  const { stdout } = await promisify(execFile)('/bin/bash', ['-c', commands], { timeout: 30_000 });
  return stdout;
}
