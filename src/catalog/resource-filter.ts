// Which resources of a server can be seen and read, according to its entry and its endpoint.
import { allowsUri, deniesUri } from '../base/uri-rules.ts';
import type { Filter } from './globs.ts';

/** The cost of the rules of one level, in bytes. */
const LEVEL_COST = 4 * 1024;

/** The rules of all levels about the resources of one server. */
export class ResourceFilter {
  readonly #levels: readonly Filter[];

  /** @param levels the server's own, then the endpoint's */
  constructor(levels: readonly (Filter | undefined)[]) {
    this.#levels = levels.flatMap((level) => level ?? []);
  }

  /** The cost of checking one URI, in bytes. */
  get passCost(): number {
    return LEVEL_COST * this.#levels.length;
  }

  /**
   * Whether a URI may be read, or a URI or template may be listed. Every level must allow it, and none may
   * deny it. A URI that can be read in several ways is blocked by any `deny`.
   * @param uri the server's own
   */
  passes(uri: string): boolean {
    return this.#levels.every(({ allow, deny }) => {
      if (deny !== undefined && deniesUri(deny, uri)) return false;
      return allow === undefined || allowsUri(allow, uri);
    });
  }
}
