// One server of an endpoint: its lists, and the dispatcher for modern requests to it.
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

/** The client that reads lists for the gateway. */
const READER = new SilentClient(
  { key: 'gateway' },
  { version: NEWEST_LEGACY, capabilities: {}, info: undefined },
  UNASKABLE.gateway,
);

/** A server of an endpoint. */
export interface AggregatedServer {
  readonly backend: Backend;
  readonly lists: ServerLists;
  /** Whether all clients use the same instances. */
  readonly isShared: boolean;
  /** What the endpoint shows of it. */
  readonly catalog: MemberCatalog;
  readonly validation: TrustMode;
}

/** One server as an endpoint shows it. */
export class Member {
  /** The index of the server at the endpoint. */
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

  /** @param endpoint to which it belongs */
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
    // The name includes the server: states that are sealed for one server must not be valid for another one
    // with the same tools.
    this.dispatcher = new ModernDispatcher(`${endpoint.name} ${backend.name}`, backend, state);
  }

  /** The lease of a shared server to read its lists. If that replica is down, another one is used. */
  get readingLease(): Lease {
    if (this.#reading?.isDown === true) {
      this.#reading.leave();
      this.#reading = undefined;
    }
    this.#reading ??= this.backend.acquire(READER);
    return this.#reading;
  }
}
