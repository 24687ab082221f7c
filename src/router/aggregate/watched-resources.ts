// The resources that one client watches, and at which servers. A URI that no list names may be of any
// of them, and many servers agree to watch whatever they are asked for: so it is watched at all that
// agree, and who has it will tell.
import type { UriOwner } from '../../catalog/resource-uris.ts';
import type { WireError } from '../../jsonrpc/error.ts';

/** How servers are told. */
export interface WatchPlaces {
  /** @returns the error of a server that can't be had, or does not agree */
  subscribe(owner: UriOwner): Promise<WireError | undefined>;
  unsubscribe(owner: UriOwner): Promise<WireError | undefined>;
}

/** What a client watches. */
export class WatchedResources {
  readonly #places: WatchPlaces;
  /** By the URI that the client knows, and the server. */
  readonly #owners = new Map<string, Map<string, UriOwner>>();
  /** What the client calls it, by server and the URI that this one knows. */
  readonly #names = new Map<string, string>();

  constructor(places: WatchPlaces) {
    this.#places = places;
  }

  /** What the client calls a resource of a server; undefined when it does not watch exactly that. */
  nameOf(key: string, own: string): string | undefined {
    return this.#names.size === 0 ? undefined : this.#names.get(`${key} ${own}`);
  }

  /** Whether the client watches a resource, as it calls it. */
  has(uri: string): boolean {
    return this.#owners.has(uri);
  }

  /**
   * Watches a resource. Resolves as soon as one server agrees; others may do so later.
   * @param uri as the client calls it
   * @param owners who may have it, the likeliest first
   * @returns the first one's error when none agrees; undefined: it is watched, or nobody has any
   */
  async watch(uri: string, owners: readonly UriOwner[]): Promise<WireError | undefined> {
    const errors = owners.map(async (owner) => await this.#watchAt(uri, owner));
    const agreed = errors.map(async (error) => {
      if ((await error) !== undefined) throw new Error('not agreed');
    });
    const isWatched = await Promise.any(agreed).then(
      () => true,
      () => false,
    );
    return isWatched ? undefined : await errors[0];
  }

  /** Watches it no longer, wherever it was. */
  async unwatch(uri: string): Promise<void> {
    const owners = [...(this.#owners.get(uri)?.values() ?? [])];
    for (const owner of owners) this.#forget(uri, owner);
    await Promise.all(owners.map((owner) => this.#places.unsubscribe(owner)));
  }

  async #watchAt(uri: string, owner: UriOwner): Promise<WireError | undefined> {
    // Before the server is told: the first change may come with its answer.
    const owners = this.#owners.get(uri) ?? new Map<string, UriOwner>();
    this.#owners.set(uri, owners.set(owner.key, owner));
    this.#names.set(`${owner.key} ${owner.uri}`, uri);
    const error = await this.#places.subscribe(owner);
    if (error !== undefined) this.#forget(uri, owner);
    else if (this.#owners.get(uri)?.has(owner.key) !== true) await this.#places.unsubscribe(owner);
    return error;
  }

  #forget(uri: string, owner: UriOwner): void {
    const owners = this.#owners.get(uri);
    owners?.delete(owner.key);
    if (owners?.size === 0) this.#owners.delete(uri);
    const name = `${owner.key} ${owner.uri}`;
    if (this.#names.get(name) === uri) this.#names.delete(name);
  }
}
