// One resource has many spellings. What servers may read a URI as: without escapes, without letter case
// where it has none, as a URL parser writes it. What would lead elsewhere than it says leads nowhere.
import { matchesGlob } from './glob.ts';

/** How servers may read a URI. */
export interface UriSpellings {
  readonly plain: string;
  /** As URL parsers have it; the plain one where they can't read it. */
  readonly parsed: string;
}

/**
 * The spellings of a URI.
 * @returns undefined when it has `.`, `..` or nothing as a segment in some spelling, or characters that parsers
 *   drop on the way
 */
export function spellingsOf(uri: string): UriSpellings | undefined {
  const plain = plainForm(uri);
  // Parsers take off blanks at the ends; some file systems and servers fold compatible characters.
  const folded = plain.trim().normalize('NFKC');
  if (DOT_SEGMENT.test(folded) || EMPTY_SEGMENT.test(pathOf(folded))) return undefined;
  if (CONTROL.test(plain)) return undefined;
  const parsed = URL.canParse(uri) ? plainForm(new URL(uri).href) : plain;
  return { plain, parsed };
}

/** Whether some glob means a URI, in every way that servers may read it. */
export function allowsUri(globs: readonly string[], uri: string): boolean {
  if (!globs.some((glob) => matchesGlob(glob, uri))) return false;
  const spellings = spellingsOf(uri);
  return (
    spellings !== undefined && globs.some((glob) => matchesGlob(plainForm(glob), spellings.plain))
  );
}

/** Without escapes, and with scheme and host in lower case. */
export function plainForm(uri: string): string {
  let text = uri;
  for (let round = 0; round < MAX_ESCAPES && text.includes('%'); round++) text = decoded(text);
  return text.replace(ORIGIN, (origin) => origin.toLowerCase());
}

const DOT_SEGMENT = /[\\/]\.\.?(?:[\\/?#]|$)/;
/** Most file systems read two slashes as one; on the web they are two. */
const EMPTY_SEGMENT = /[\\/]{2}/;
const CONTROL = /\p{Cc}/u;
/** Scheme and host, which have no case. */
const ORIGIN = /^[^:/?#]+:(?:\/\/[^/?#]*)?/;
const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const MAX_ESCAPES = 3;

function pathOf(uri: string): string {
  if (/^https?:/i.test(uri)) return '';
  return uri.replace(ORIGIN, '').split(/[?#]/, 1)[0] ?? '';
}

/** Without escapes, also where some of them make no text. */
function decoded(text: string): string {
  return text.replace(ESCAPES, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}
