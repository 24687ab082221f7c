// One server of an endpoint: what is known of its lists, and the way of modern requests to it.
import type { TrustMode } from '../../catalog/catalog-options.ts';
import type { WaitLimits } from '../../catalog/endpoint-options.ts';
import type { MemberCatalog } from '../../catalog/member-catalog.ts';
import type { ServerLists } from '../../catalog/server-lists.ts';
import { UNASKABLE } from '../../mcp/errors.ts';
import { NEWEST_LEGACY } from '../../mcp/versions.ts';
import type { Backend, Lease } from '../../ports/lease.ts';
import { SilentClient } from '../../ports/silent-client.ts';
import { ModernDispatcher, type ModernState } from '../../translate/modern-dispatcher.ts';
import { Patience } from './patience.ts';

/** Reads lists in the gateway's own name. */
const READER = new SilentClient(
  { key: 'gateway' },
  { version: NEWEST_LEGACY, capabilities: {}, info: undefined },
  UNASKABLE.gateway,
);

/** A server of an endpoint, and what is known of its lists. */
export interface AggregatedServer {
  readonly backend: Backend;
  readonly lists: ServerLists;
  /** Whether all clients use the same instances. */
  readonly isShared: boolean;
  /** What of it the endpoint shows. */
  readonly catalog: MemberCatalog;
  readonly validation: TrustMode;
}

/** One server as an endpoint shows it. */
export class Member {
  /** Which of the endpoint's servers it is. */
  readonly index: number;
  readonly key: string;
  readonly backend: Backend;
  readonly lists: ServerLists;
  readonly dispatcher: ModernDispatcher;
  readonly catalog: MemberCatalog;
  readonly validation: TrustMode;
  /** Whether all clients use the same instances. */
  readonly isShared: boolean;
  readonly patience: Patience;
  #reading: Lease | undefined;

  /** @param endpoint the one that shows it */
  constructor(
    endpoint: { readonly name: string; readonly waits: WaitLimits },
    index: number,
    server: AggregatedServer,
    state: ModernState,
  ) {
    const { backend } = server;
    this.index = index;
    this.key = backend.name;
    this.backend = backend;
    this.lists = server.lists;
    this.isShared = server.isShared;
    this.catalog = server.catalog;
    this.validation = server.validation;
    this.patience = new Patience(endpoint.waits, server.isShared);
    // Two servers may have tools of one name: what is sealed for one is not valid for the other.
    this.dispatcher = new ModernDispatcher(`${endpoint.name} ${backend.name}`, backend, state);
  }

  /** A lease at a shared server to read its lists from: at another replica while one is down. */
  get readingLease(): Lease {
    if (this.#reading?.isDown === true) {
      this.#reading.leave();
      this.#reading = undefined;
    }
    this.#reading ??= this.backend.acquire(READER);
    return this.#reading;
  }
}
