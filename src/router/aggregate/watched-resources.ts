// The resources that one client watches, and at which servers. A URI that no list names may be of any
// of them, and many servers agree to watch whatever they are asked for: so it is watched at all that
// agree, and who has it will tell.
import type { UriOwner } from '../../catalog/resource-uris.ts';
import type { WireError } from '../../jsonrpc/error.ts';
import type { SubscribeAnswered } from '../../ports/lease.ts';
import type { CarriedResource } from '../carried-session.ts';

/** How servers are told. */
export interface SubscriptionTarget {
  /** @returns the error of a server that can't be had, or does not agree */
  subscribe(owner: UriOwner): Promise<WireError | undefined>;
  /** The same for many of one server; told of each answer. */
  subscribeAll(key: string, uris: readonly string[], answered: SubscribeAnswered): Promise<void>;
  unsubscribe(owner: UriOwner): Promise<WireError | undefined>;
}

/** A resource as a client calls it, and who may have it, the likeliest first. */
export interface WantedResource {
  readonly uri: string;
  readonly owners: readonly UriOwner[];
}

/** What a client watches. */
export class WatchedResources {
  readonly #target: SubscriptionTarget;
  /** By the URI that the client knows, and the server. */
  readonly #owners = new Map<string, Map<string, UriOwner>>();
  /** What the client calls it, by server and the URI that this one knows. */
  readonly #names = new Map<string, string>();

  constructor(target: SubscriptionTarget) {
    this.#target = target;
  }

  /** What the client calls a resource of a server; undefined when it does not watch exactly that. */
  nameOf(key: string, own: string): string | undefined {
    return this.#names.size === 0 ? undefined : this.#names.get(`${key} ${own}`);
  }

  /** Everything that the client watches, and where. */
  get all(): CarriedResource[] {
    return [...this.#owners].map(([uri, owners]) => ({ uri, owners: [...owners.values()] }));
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
   * Watches many resources, each wherever a server agrees.
   * @param answered told of each once: when a server agrees, or when none does
   * @returns when all servers have answered
   */
  async watchAll(wanted: readonly WantedResource[], answered: SubscribeAnswered): Promise<void> {
    const byServer = new Map<string, string[]>();
    /** How many servers have not answered. */
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
      // Of those that answer after one that agreed nobody is told.
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

  /** @returns what the client calls it; undefined: it was given up meanwhile */
  #settle(owner: UriOwner, error: WireError | undefined): string | undefined {
    const uri = this.nameOf(owner.key, owner.uri);
    if (uri === undefined && error === undefined) void this.#target.unsubscribe(owner);
    else if (uri !== undefined && error !== undefined) this.#forget(uri, owner);
    return uri;
  }

  /** Watches it no longer, wherever it was. */
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

  /** Before the server is told: the first change may come with its answer. */
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
