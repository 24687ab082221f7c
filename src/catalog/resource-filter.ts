// Which resources of a server can be seen and read, as its entry and its endpoint say. One resource
// has many spellings, so each URI is looked at as servers may read it.
import { allowsUri, deniesUri, spellingsOf } from '../base/uri-spellings.ts';
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
    const spellings = spellingsOf(uri);
    if (spellings === undefined) return false;
    return this.#levels.every(({ allow, deny }) => {
      if (deny !== undefined && deniesUri(deny, uri, spellings)) return false;
      return allow === undefined || allowsUri(allow, uri);
    });
  }
}
