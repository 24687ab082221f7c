// Filters over names and URIs: `*` is any run of characters, `?` is one. Nothing else has a meaning,
// `/` and `[` stand for themselves: file-name libraries stop `*` at a `/`, which is wrong for URIs,
// and turn patterns into regular expressions that can backtrack without end.

const ANY = '*';
const ONE = '?';

/**
 * Whether a text matches a glob from end to end, case-sensitively. At most glob x text steps: only
 * the last `*` is ever tried again.
 *
 * @param glob what the configuration says
 * @param text a name or a URI
 */
export function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let from = 0;
  // Where the last `*` stands, and where what it covers ends.
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

/** Characters outside the first plane take two places in a text. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
