// Hosts let their users name servers as they like; here a name is part of paths and of tools' names.
import { createHash } from 'node:crypto';

const MAX_LENGTH = 32;
/** Hexadecimal digits of a hash that tells names apart. */
const HASH_LENGTH = 6;

/**
 * Makes names of servers from a host's titles. A name depends on its title alone, whatever the order
 * of the file; only where two titles would become one name each gets a hash, unless it is that name.
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
 * Makes a host's title fit the grammar of server names: Latin letters without their marks in lower case,
 * digits, and `-` for all else; with a hash of the title where letters of other scripts are lost, so that
 * such titles stay apart.
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
