// One resource has many spellings. What servers may read a URI as: without escapes, without letter case
// where it has none, as a URL parser writes it. What would lead elsewhere than it says leads nowhere.
import { matchesGlob } from './glob.ts';

/** How servers may read a URI. */
export interface UriSpellings {
  readonly plain: string;
  /** As URL parsers have it; the plain one where they can't read it. */
  readonly parsed: string;
  /** The files that servers may read for it, as `file:///path`; none when it can't be one. */
  readonly files: ReadonlySet<string>;
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
  return { plain, parsed, files: new Set([plain, parsed].flatMap(filesOf)) };
}

/**
 * Whether some glob means a URI in any way that servers may read it. Readers of files take the path
 * alone: whatever the host, without query, and a bare path too.
 */
export function deniesUri(
  globs: readonly string[],
  uri: string,
  { plain, parsed, files }: UriSpellings,
): boolean {
  const readings = [uri, plain, parsed, ...files];
  return globs.some((glob) => {
    const plainGlob = plainForm(glob);
    const forms = [glob, plainGlob, fileOf(plainGlob) ?? glob];
    return forms.some((form) => readings.some((reading) => matchesGlob(form, reading)));
  });
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
function plainForm(uri: string): string {
  let text = uri;
  for (let round = 0; round < MAX_ESCAPES && text.includes('%'); round++) text = decoded(text);
  return text.replace(ORIGIN, (origin) => origin.toLowerCase());
}

/** A `file:` URI or a bare path as a URI without host; undefined for anything else. */
function fileOf(text: string): string | undefined {
  const path = FILE.exec(text.trim())?.[1] ?? (HAS_SCHEME.test(text) ? undefined : text.trim());
  return path === undefined
    ? undefined
    : `file:///${path.replaceAll('\\', '/').replace(/^\//, '')}`;
}

/** The file that is read, and what it is for readers that take off more. */
function filesOf(text: string): string[] {
  const whole = fileOf(text);
  if (whole === undefined) return [];
  const [path = ''] = whole.split(/[?#]/, 1);
  const parameters = path.indexOf(';', path.lastIndexOf('/'));
  return [
    whole,
    path,
    path.endsWith('/') ? path.slice(0, -1) : path,
    parameters < 0 ? path : path.slice(0, parameters),
  ];
}

const FILE = /^file:(?:[\\/]{2}[^\\/?#]*)?(.*)$/is;
const HAS_SCHEME = /^\s*[a-z*?][a-z0-9+.*?-]*:/i;
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
