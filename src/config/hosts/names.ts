// Makes server names from the titles in host files. Hosts allow any text; here a name is part of paths and of
// tool names.
import { createHash } from 'node:crypto';

const MAX_LENGTH = 32;
/** Hexadecimal digits of a hash that makes a name unique. */
const HASH_LENGTH = 6;

/**
 * Makes names from titles. A name depends only on its title, not on the order of the file. If two titles
 * would get the same name, each gets a hash, unless it already is that name.
 */
export function nameServers(titles: readonly string[]): ReadonlyMap<string, string> {
  const plain = titles.map((title) => [title, fitName(title)] as const);
  const counts = new Map<string, number>();
  for (const [, name] of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    plain.map(([title, name]) => {
      const isAlone = counts.get(name) === 1 || title === name;
      return [title, isAlone ? name : withHash(name, title)];
    }),
  );
}

/**
 * Makes a valid server name from a title: Latin letters without accents in lower case, digits, and `-` for
 * everything else. If letters of other scripts are lost, a hash of the title is added, so that such titles
 * get different names.
 */
export function fitName(title: string): string {
  const latin = title
    .normalize('NFKD')
    .replace(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .toLowerCase();
  const name = latin
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, MAX_LENGTH)
    .replace(/-+$/, '');
  const isLossy = name === '' || /[^\P{L}a-z]|[^\P{N}0-9]/u.test(latin);
  return isLossy ? withHash(name === '' ? 'server' : name, title) : name;
}

function withHash(name: string, title: string): string {
  const hash = createHash('sha256').update(title).digest('hex').slice(0, HASH_LENGTH);
  const room = MAX_LENGTH - HASH_LENGTH - 1;
  return `${name.slice(0, room).replace(/-+$/, '')}-${hash}`;
}
