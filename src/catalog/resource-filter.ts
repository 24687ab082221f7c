// Which resources of a server can be seen and read, as its entry and its endpoint say.
import { allowsUri, deniesUri } from '../base/uri-rules.ts';
import type { Filter } from './globs.ts';

/** What the rules of one level cost, as if they were read in so many bytes. */
const LEVEL_COST = 4 * 1024;

/** What the levels say about the resources of one server. */
export class ResourceFilter {
  readonly #levels: readonly Filter[];

  /** @param levels the server's own, the endpoint's */
  constructor(levels: readonly (Filter | undefined)[]) {
    this.#levels = levels.flatMap((level) => level ?? []);
  }

  /** What it costs to ask about one URI, in bytes. */
  get passCost(): number {
    return LEVEL_COST * this.#levels.length;
  }

  /**
   * Whether a URI may be read, or a URI or template be listed: every level must allow it, none may deny it.
   * What servers may read in several ways no `deny` lets through.
   *
   * @param uri as the server knows it
   */
  passes(uri: string): boolean {
    return this.#levels.every(({ allow, deny }) => {
      if (deny !== undefined && deniesUri(deny, uri)) return false;
      return allow === undefined || allowsUri(allow, uri);
    });
  }
}
