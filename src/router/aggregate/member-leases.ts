// A client's leases of all servers of an endpoint. They are taken and given up together. If a server is not
// available, only its own entries are missing.
import { within } from '../../base/clock.ts';
import { asGatewayError, type GatewayError, messageOf } from '../../base/errors.ts';
import { mergedCapabilities } from '../../catalog/endpoint-info.ts';
import type { UriOwner } from '../../catalog/resource-uris.ts';
import { methodNotFound, type WireError } from '../../jsonrpc/error.ts';
import { isObject, type JsonObject } from '../../jsonrpc/parse.ts';
import { callMessage } from '../../jsonrpc/serialize.ts';
import { wireErrorOf } from '../../mcp/errors.ts';
import type { LoggingLevel } from '../../mcp/log-levels.ts';
import { LIST_CHANGED } from '../../mcp/methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Lease, ListKind, SubscribeAnswered } from '../../ports/lease.ts';
import type { Principal } from '../../ports/principal.ts';
import { type CarriedSession, leaseAfter, leaseBefore } from '../carried-session.ts';
import type { AggregateParts } from './aggregate-router.ts';
import { memberInfosOf } from './answers.ts';
import type { Member } from './member.ts';
import { MemberClient } from './member-client.ts';
import { isShown } from './routes.ts';
import { View, type ViewLeases } from './view.ts';
import { type SubscriptionTarget, WatchedResources } from './watched-resources.ts';

/** How long servers may take to agree to what the client watched at others. */
const SUBSCRIBE_LIMIT_MS = 5_000;

/** Whether a server can be used. */
interface Attempt {
  /** Undefined: not ready in time for a client that connects. */
  readonly inTime: Promise<boolean | undefined>;
  readonly inTheEnd: Promise<boolean>;
}

/** A client at one server. `lease` is undefined if there is none. */
export interface MemberLease {
  readonly client: MemberClient;
  readonly lease: Lease | undefined;
}

/** A client's leases of the servers of an endpoint. */
export class MemberLeases implements ViewLeases, SubscriptionTarget {
  readonly client: Downstream;
  readonly parts: AggregateParts;
  readonly view: View;
  readonly watched = new WatchedResources(this);
  /** The least level of log messages that the client wants; undefined: it has set none. */
  level: LoggingLevel | undefined;
  readonly #memberLeases: MemberLease[];
  readonly #onUp: (index: number) => void;
  /** Why a server that the client may use gave no lease, by the server's index. */
  readonly #refusals = new Map<number, unknown>();
  #failure: unknown;

  /**
   * @param onUp told when a server can be used again; it is the n-th of the endpoint
   * @param before what the client has already under another endpoint of the same name
   */
  constructor(
    client: Downstream,
    parts: AggregateParts,
    onUp: (index: number) => void = () => undefined,
    before?: CarriedSession,
  ) {
    this.client = client;
    this.parts = parts;
    this.#onUp = onUp;
    this.view = new View(parts, this);
    this.#memberLeases = parts.members.map((member) => this.#memberLease(member, before));
  }

  get principal(): Principal {
    return this.client.principal;
  }

  get all(): readonly MemberLease[] {
    return this.#memberLeases;
  }

  /** Whether a server gave no lease. */
  get hasGaps(): boolean {
    return this.#refusals.size > 0;
  }

  /** Tries again to get the missing leases. */
  fillGaps(): void {
    for (const member of this.parts.members) {
      if (!this.#refusals.has(member.index)) continue;
      const memberLease = this.#memberLease(member);
      this.#memberLeases[member.index] = memberLease;
      void memberLease.lease?.join(this.level);
      // When it is ready, the client is told that lists have changed.
      void memberLease.lease?.ready().catch(() => undefined);
    }
  }

  opens(index: number): boolean {
    return this.lease(index) !== undefined || this.#refusals.has(index);
  }

  lease(index: number): Lease | undefined {
    return this.all[index]?.lease;
  }

  peek(index: number): Lease | undefined {
    return this.all[index]?.lease;
  }

  refusal(index: number): GatewayError | undefined {
    const server = this.parts.members[index]?.key ?? '';
    const refusal = this.#refusals.get(index);
    return refusal === undefined ? undefined : asGatewayError(refusal, server);
  }

  /**
   * Waits until the servers can be used, for as long as the endpoint allows.
   * @throws GatewayError if none can be used
   */
  async ready(): Promise<void> {
    const leases = this.#leases;
    await Promise.all(leases.map((lease) => lease.join(undefined)));
    // Failed servers are not waited for, unless all have failed.
    const areAllDown = leases.every(({ isDown }) => isDown);
    const attempts = this.all.flatMap(({ lease }, index) => {
      if (lease === undefined || (lease.isDown && !areAllDown)) return [];
      return [this.#attempt(lease, index)];
    });
    const inTime = await Promise.all(attempts.map(({ inTime }) => inTime));
    if (inTime.includes(true)) return;
    // No other server could serve the client meanwhile.
    const inTheEnd = await within(
      this.parts.waits.listTimeout,
      Promise.all(attempts.map(({ inTheEnd }) => inTheEnd)),
    );
    if (inTheEnd?.includes(true) === false) throw this.#failure;
  }

  /**
   * Goes on with what the client had. Waits for servers only that are in the place of others which the client
   * can use meanwhile.
   */
  async goOnWith(before: CarriedSession): Promise<void> {
    const { level } = before;
    this.level = level;
    const areReady = this.parts.members.map(({ backend, index }) => {
      const lease = this.lease(index);
      // Not waited for: at an instance that it had there is nothing to tell.
      void lease?.join(level);
      const ready = lease?.ready().catch(() => undefined);
      const replaced = leaseBefore(backend, before);
      if (replaced === undefined) return undefined;
      lease?.succeed(replaced);
      return ready;
    });
    await Promise.all(areReady);
    // Before the old leases are given up, so that no server is told twice.
    const watching = before.watched.map(({ uri, owners }) =>
      this.watched.watch(
        uri,
        owners.filter(({ key }) => this.#indexOf(key) >= 0),
      ),
    );
    await within(SUBSCRIBE_LIMIT_MS, Promise.all(watching));
  }

  #attempt(lease: Lease, index: number): Attempt {
    const inTheEnd = lease.ready().then(
      () => true,
      (error: unknown) => {
        this.#failure ??= error;
        return false;
      },
    );
    const limitMs = lease.unavailableReason && this.parts.members[index]?.patience.toConnect();
    return { inTheEnd, inTime: limitMs === undefined ? inTheEnd : within(limitMs, inTheEnd) };
  }

  /** The capabilities that the servers declare. */
  get capabilities(): JsonObject {
    return mergedCapabilities(memberInfosOf(this, ({ capabilities }) => capabilities));
  }

  async subscribe({ key, uri }: UriOwner): Promise<WireError | undefined> {
    const found = await this.#leaseToSubscribe(key);
    return 'refused' in found ? found.refused : await found.lease.subscribe(uri);
  }

  async subscribeAll(
    key: string,
    uris: readonly string[],
    answered: SubscribeAnswered,
  ): Promise<void> {
    const found = await this.#leaseToSubscribe(key);
    if ('lease' in found) await found.lease.subscribeAll(uris, answered);
    else for (const uri of uris) answered(uri, found.refused);
  }

  async #leaseToSubscribe(key: string): Promise<{ lease: Lease } | { refused: WireError }> {
    const index = this.#indexOf(key);
    const lease = this.all[index]?.lease;
    try {
      await lease?.ready();
    } catch (error) {
      return { refused: wireErrorOf(asGatewayError(error, key)) };
    }
    const refusal = this.refusal(index);
    if (lease === undefined && refusal !== undefined) return { refused: wireErrorOf(refusal) };
    const resources = lease?.identity?.capabilities['resources'];
    if (lease === undefined || !isObject(resources) || resources['subscribe'] !== true) {
      return { refused: methodNotFound(`server "${key}" offers no subscriptions.`) };
    }
    return { lease };
  }

  async unsubscribe({ key, uri }: UriOwner): Promise<WireError | undefined> {
    return await this.all[this.#indexOf(key)]?.lease?.unsubscribe(uri);
  }

  #indexOf(key: string): number {
    return this.parts.members.findIndex((member) => member.key === key);
  }

  /** Tells the client that a list has changed. */
  completed(kind: ListKind): void {
    const method = `notifications/${kind}/list_changed`;
    if (LIST_CHANGED.has(method)) this.client.notify(callMessage(method), method);
  }

  leave(): void {
    for (const lease of this.#leases) lease.leave();
  }

  get #leases(): Lease[] {
    return this.all.flatMap(({ lease }) => lease ?? []);
  }

  #memberLease(member: Member, before?: CarriedSession): MemberLease {
    const { index, key, backend } = member;
    const expose = this.view.exposeOf(index);
    const client = new MemberClient(this.client, {
      expose,
      told: (uri) => this.watched.nameOf(key, uri) ?? expose(uri),
      shows: (uri) => isShown(this, { key, uri }),
    });
    if (!this.parts.visibility.opens(this.principal, key)) return { client, lease: undefined };
    try {
      const lease = leaseAfter(backend, client, before);
      lease.onUp = () => this.#isUp(member);
      this.#refusals.delete(index);
      return { client, lease };
    } catch (error) {
      this.#refused(member, error);
      return { client, lease: undefined };
    }
  }

  #refused({ index, key }: Member, error: unknown): void {
    this.#failure ??= error;
    if (!this.#refusals.has(index)) {
      this.parts.logger.warn(
        { server: key, reason: messageOf(error) },
        'no instance available for this client; the server is left out of the endpoint',
      );
    }
    this.#refusals.set(index, error);
  }

  #isUp({ index, patience }: Member): void {
    patience.ready();
    this.view.isUp(index);
    this.#onUp(index);
  }
}
