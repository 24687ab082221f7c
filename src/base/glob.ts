// Globs over names and URIs: `*` is any number of characters, `?` is one. Nothing else is special, also not
// `/` and `[`. Libraries for file names stop `*` at a `/`, which is wrong for URIs, and make regular
// expressions that can take exponential time.

const ANY = '*';
const ONE = '?';

/**
 * Whether a glob matches a whole text, case-sensitively. Takes at most glob x text steps, because only the
 * last `*` is tried again.
 * @param glob from the configuration
 * @param text a name or a URI
 */
export function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let from = 0;
  // The position of the last `*`, and the end of what it covers.
  let star = -1;
  let covered = 0;
  while (from < text.length) {
    const wanted = glob[at];
    if (wanted === ANY) {
      star = at++;
      covered = from;
    } else if (wanted === ONE) {
      at++;
      from += widthAt(text, from);
    } else if (wanted !== undefined && wanted === text[from]) {
      at++;
      from++;
    } else if (star >= 0) {
      covered += widthAt(text, covered);
      at = star + 1;
      from = covered;
    } else {
      return false;
    }
  }
  while (glob[at] === ANY) at++;
  return at === glob.length;
}

/** Characters beyond U+FFFF take two UTF-16 code units. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
