// Which resources of a server can be seen and read, as its entry and its endpoint say. One resource
// has many spellings, so each URI is also looked at as servers read it: without escapes and letter
// case where it has none. `..` would lead out of what is allowed, so it leads nowhere.
import { matchesGlob } from '../base/glob.ts';
import type { Filter } from './globs.ts';

/** What the levels say about the resources of one server. */
export class ResourceFilter {
  readonly #levels: readonly Filter[];

  /** @param levels the server's own, the endpoint's */
  constructor(levels: readonly (Filter | undefined)[]) {
    this.#levels = levels.flatMap((level) => level ?? []);
  }

  /**
   * Whether a URI may be read, or a URI or template be listed. Every spelling must be allowed, none
   * may be denied.
   *
   * @param uri as the server knows it
   */
  passes(uri: string): boolean {
    if (this.#levels.length === 0) return true;
    const plain = plainForm(uri);
    if (DOT_SEGMENT.test(plain)) return false;
    const parsed = URL.canParse(uri) ? plainForm(new URL(uri).href) : plain;
    return this.#levels.every(({ allow, deny }) => {
      const isDenied = deny?.some((glob) => {
        const plainGlob = plainForm(glob);
        const isPlain = matchesGlob(plainGlob, plain) || matchesGlob(plainGlob, parsed);
        return isPlain || matchesGlob(glob, uri);
      });
      if (isDenied === true) return false;
      if (allow === undefined) return true;
      const isAllowed = allow.some((glob) => matchesGlob(glob, uri));
      return isAllowed && allow.some((glob) => matchesGlob(plainForm(glob), plain));
    });
  }
}

const DOT_SEGMENT = /[\\/]\.\.?(?:[\\/?#]|$)/;
/** Scheme and host, which have no case. */
const ORIGIN = /^[^:/?#]+:(?:\/\/[^/?#]*)?/;
const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const MAX_ESCAPES = 3;

function plainForm(uri: string): string {
  let text = uri;
  for (let round = 0; round < MAX_ESCAPES && text.includes('%'); round++) text = decoded(text);
  return text.replace(ORIGIN, (origin) => origin.toLowerCase());
}

/** Without escapes, also where some of them make no text. */
function decoded(text: string): string {
  return text.replace(ESCAPES, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}
