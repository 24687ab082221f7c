// The resources that one client watches, and at which servers. A URI that is in no list may belong to any
// server, and many servers accept every subscription. So it is watched at all servers that accept it; the one
// that has it will send updates.
import type { UriOwner } from '../../catalog/resource-uris.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { SubscribeAnswered } from '../../ports/lease.ts';
import type { CarriedResource } from '../carried-session.ts';

/** Subscribes at servers. */
export interface SubscriptionTarget {
  /** @returns the error of a server that is not available or refuses */
  subscribe(owner: UriOwner): Promise<WireError | undefined>;
  /** The same for many URIs of one server. Calls `answered` for each. */
  subscribeAll(key: string, uris: readonly string[], answered: SubscribeAnswered): Promise<void>;
  unsubscribe(owner: UriOwner): Promise<WireError | undefined>;
}

/** A resource with the client's URI, and the servers that may have it, the likeliest first. */
export interface WantedResource {
  readonly uri: string;
  readonly owners: readonly UriOwner[];
}

/** The resources that a client watches. */
export class WatchedResources {
  readonly #target: SubscriptionTarget;
  /** By the client's URI, and by the server. */
  readonly #owners = new Map<string, Map<string, UriOwner>>();
  /** The client's URI, by the server and its own URI. */
  readonly #names = new Map<string, string>();

  constructor(target: SubscriptionTarget) {
    this.#target = target;
  }

  /** The client's URI for a resource of a server; undefined if the client does not watch exactly this. */
  nameOf(key: string, own: string): string | undefined {
    return this.#names.size === 0 ? undefined : this.#names.get(`${key} ${own}`);
  }

  /** Everything that the client watches, and where. */
  get all(): CarriedResource[] {
    return [...this.#owners].map(([uri, owners]) => ({ uri, owners: [...owners.values()] }));
  }

  /**
   * Whether the client watches a resource.
   * @param uri the client's
   */
  has(uri: string): boolean {
    return this.#owners.has(uri);
  }

  /**
   * Watches a resource. Resolves when the first server accepts; others may accept later.
   * @param uri the client's
   * @param owners the servers that may have it, the likeliest first
   * @returns the first server's error if none accepts; undefined: it is watched, or there are no servers
   */
  async watch(uri: string, owners: readonly UriOwner[]): Promise<WireError | undefined> {
    if (owners.length === 0) return undefined;
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

  /**
   * Watches many resources, each at all servers that accept it.
   * @param answered called once for each: when the first server accepts, or when none does
   * @returns resolves when all servers have answered
   */
  async watchAll(wanted: readonly WantedResource[], answered: SubscribeAnswered): Promise<void> {
    const byServer = new Map<string, string[]>();
    /** How many servers have not answered yet, by URI. */
    const open = new Map<string, number>();
    for (const { uri, owners } of wanted) {
      open.set(uri, owners.length);
      for (const owner of owners) {
        this.#note(uri, owner);
        const uris = byServer.get(owner.key);
        if (uris === undefined) byServer.set(owner.key, [owner.uri]);
        else uris.push(owner.uri);
      }
    }
    const isLast = (uri: string, isAgreed: boolean): boolean => {
      const left = (open.get(uri) ?? 0) - 1;
      // After the first acceptance, later answers are not reported.
      open.set(uri, isAgreed ? 0 : left);
      return left === 0 || (isAgreed && left > 0);
    };
    const asked = [...byServer].map(([key, uris]) =>
      this.#target.subscribeAll(key, uris, (own, error) => {
        const uri = this.#settle({ key, uri: own }, error);
        if (uri !== undefined && isLast(uri, error === undefined)) answered(uri, error);
      }),
    );
    await Promise.all(asked);
  }

  /** @returns the client's URI; undefined if it was unsubscribed meanwhile */
  #settle(owner: UriOwner, error: WireError | undefined): string | undefined {
    const uri = this.nameOf(owner.key, owner.uri);
    if (uri === undefined && error === undefined) void this.#target.unsubscribe(owner);
    else if (uri !== undefined && error !== undefined) this.#forget(uri, owner);
    return uri;
  }

  /** Stops watching it at all servers. */
  async unwatch(uri: string): Promise<void> {
    const owners = [...(this.#owners.get(uri)?.values() ?? [])];
    for (const owner of owners) this.#forget(uri, owner);
    await Promise.all(owners.map((owner) => this.#target.unsubscribe(owner)));
  }

  async #watchAt(uri: string, owner: UriOwner): Promise<WireError | undefined> {
    this.#note(uri, owner);
    const error = await this.#target.subscribe(owner);
    if (error !== undefined) this.#forget(uri, owner);
    else if (this.#owners.get(uri)?.has(owner.key) !== true) await this.#target.unsubscribe(owner);
    return error;
  }

  /** Called before the request is sent: the first update may come together with the answer. */
  #note(uri: string, owner: UriOwner): void {
    const owners = this.#owners.get(uri) ?? new Map<string, UriOwner>();
    this.#owners.set(uri, owners.set(owner.key, owner));
    this.#names.set(`${owner.key} ${owner.uri}`, uri);
  }

  #forget(uri: string, owner: UriOwner): void {
    const owners = this.#owners.get(uri);
    owners?.delete(owner.key);
    if (owners?.size === 0) this.#owners.delete(uri);
    const name = `${owner.key} ${owner.uri}`;
    if (this.#names.get(name) === uri) this.#names.delete(name);
  }
}
