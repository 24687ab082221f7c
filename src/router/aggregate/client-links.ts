// A client's places at all servers of an endpoint: taken together, given up together. A server that
// can't be had costs its own part and nothing else.
import { within } from '../../base/clock.ts';
import { asGatewayError, type GatewayError, messageOf } from '../../base/errors.ts';
import { sessionCapabilities } from '../../bridge/tasks/offered.ts';
import type { ExposeUri } from '../../catalog/resource-texts.ts';
import type { UriOwner } from '../../catalog/resource-uris.ts';
import { mergedCapabilities, type WelcomePart } from '../../catalog/welcome.ts';
import { METHOD_NOT_FOUND, type WireError } from '../../jsonrpc/error.ts';
import { isObject, type JsonObject } from '../../jsonrpc/parse.ts';
import { callMessage } from '../../jsonrpc/serialize.ts';
import { wireErrorOf } from '../../mcp/errors.ts';
import type { LoggingLevel } from '../../mcp/log-levels.ts';
import { LIST_CHANGED } from '../../mcp/methods.ts';
import type { Downstream } from '../../ports/downstream.ts';
import type { Principal } from '../../ports/principal.ts';
import type { ListKind, Seat, ServerIdentity, SubscribeAnswered } from '../../ports/seat.ts';
import type { AggregateParts } from './aggregate-parts.ts';
import type { Member } from './member.ts';
import { MemberClient } from './member-client.ts';
import { View } from './view.ts';
import { WatchedResources } from './watched-resources.ts';

/** Whether a server can be used. */
interface Attempt {
  /** Undefined: not soon enough for a client that connects. */
  readonly inTime: Promise<boolean | undefined>;
  readonly inTheEnd: Promise<boolean>;
}

/** A client at one server; `seat` is undefined when no place could be had. */
export interface Link {
  readonly client: MemberClient;
  readonly seat: Seat | undefined;
}

/** A client at the servers of an endpoint. */
export class ClientLinks {
  readonly view: View;
  readonly #links: Link[];
  readonly watched = new WatchedResources({
    subscribe: (owner) => this.#subscribe(owner),
    subscribeAll: (key, uris, answered) => this.#subscribeAll(key, uris, answered),
    unsubscribe: (owner) => this.#unsubscribe(owner),
  });
  /** Least severe log messages that the client wants; undefined: it has not said. */
  level: LoggingLevel | undefined;
  readonly #parts: AggregateParts;
  readonly #client: Downstream;
  readonly #onUp: (index: number) => void;
  /** Why there is no place at a server that the client may use, by the server's position. */
  readonly #refusals = new Map<number, unknown>();
  #failure: unknown;

  /** @param onUp told when a server can be used again; it is the n-th of the endpoint */
  constructor(
    client: Downstream,
    parts: AggregateParts,
    onUp: (index: number) => void = () => undefined,
  ) {
    this.#client = client;
    this.#parts = parts;
    this.#onUp = onUp;
    this.view = new View({
      members: parts.members,
      composer: parts.composer,
      seat: (index) => this.links[index]?.seat,
      peek: (index) => this.links[index]?.seat,
      refusal: (index) => this.refusalOf(index),
      completed: (kind) => this.tellChanged(kind),
    });
    this.#links = parts.members.map((_, index) => this.#link(index));
  }

  get principal(): Principal {
    return this.#client.principal;
  }

  get links(): readonly Link[] {
    return this.#links;
  }

  /** Whether there was no place at a server. */
  get hasGaps(): boolean {
    return this.#refusals.size > 0;
  }

  /** Tries once more to have a place at every server. */
  fillGaps(): void {
    for (const index of [...this.#refusals.keys()]) {
      const link = this.#link(index);
      this.#links[index] = link;
      void link.seat?.join(this.level);
      // The client is told of its lists when it is up.
      void link.seat?.ready().catch(() => undefined);
    }
  }

  /** Why there is no place at a server; undefined where that is none of the client's business. */
  refusalOf(index: number): GatewayError | undefined {
    const server = this.#parts.members[index]?.key ?? '';
    const refusal = this.#refusals.get(index);
    return refusal === undefined ? undefined : asGatewayError(refusal, server);
  }

  /**
   * Waits until the servers can be used, as long as the endpoint allows.
   * @throws GatewayError when none can
   */
  async ready(): Promise<void> {
    const seats = this.#seats;
    await Promise.all(seats.map((seat) => seat.join(undefined)));
    // One that failed is not waited for, unless it is the only one.
    const areAllDown = seats.every(({ isDown }) => isDown);
    const attempts = this.links.flatMap(({ seat }, index) => {
      if (seat === undefined || (seat.isDown && !areAllDown)) return [];
      return [this.#attempt(seat, index)];
    });
    const inTime = await Promise.all(attempts.map(({ inTime }) => inTime));
    if (inTime.includes(true)) return;
    // There is nobody else to serve the client meanwhile.
    const inTheEnd = await within(
      this.#parts.waits.listTimeout,
      Promise.all(attempts.map(({ inTheEnd }) => inTheEnd)),
    );
    if (inTheEnd?.includes(true) === false) throw this.#failure;
  }

  #attempt(seat: Seat, index: number): Attempt {
    const inTheEnd = seat.ready().then(
      () => true,
      (error: unknown) => {
        this.#failure ??= error;
        return false;
      },
    );
    const limitMs = seat.lack && this.#parts.members[index]?.patience.toConnect();
    return { inTheEnd, inTime: limitMs === undefined ? inTheEnd : within(limitMs, inTheEnd) };
  }

  /** What the servers say to a session of the client's. */
  get welcomeParts(): WelcomePart[] {
    const { version } = this.#client;
    return this.#welcomeParts((identity) =>
      identity.era === 'legacy' ? sessionCapabilities(identity, version) : identity.capabilities,
    );
  }

  /** What the servers themselves declare. */
  get capabilities(): JsonObject {
    return mergedCapabilities(this.#welcomeParts(({ capabilities }) => capabilities));
  }

  async #subscribe({ key, uri }: UriOwner): Promise<WireError | undefined> {
    const place = await this.#placeToSubscribe(key);
    return 'refused' in place ? place.refused : await place.seat.subscribe(uri);
  }

  async #subscribeAll(
    key: string,
    uris: readonly string[],
    answered: SubscribeAnswered,
  ): Promise<void> {
    const place = await this.#placeToSubscribe(key);
    if ('seat' in place) await place.seat.subscribeAll(uris, answered);
    else for (const uri of uris) answered(uri, place.refused);
  }

  async #placeToSubscribe(key: string): Promise<{ seat: Seat } | { refused: WireError }> {
    const index = this.#indexOf(key);
    const seat = this.links[index]?.seat;
    try {
      await seat?.ready();
    } catch (error) {
      return { refused: wireErrorOf(asGatewayError(error, key)) };
    }
    const refusal = this.refusalOf(index);
    if (seat === undefined && refusal !== undefined) return { refused: wireErrorOf(refusal) };
    const resources = seat?.identity?.capabilities['resources'];
    if (seat === undefined || !isObject(resources) || resources['subscribe'] !== true) {
      const message = `Method not found: server "${key}" offers no subscriptions.`;
      return { refused: { code: METHOD_NOT_FOUND, message } };
    }
    return { seat };
  }

  async #unsubscribe({ key, uri }: UriOwner): Promise<WireError | undefined> {
    return await this.links[this.#indexOf(key)]?.seat?.unsubscribe(uri);
  }

  #indexOf(key: string): number {
    return this.#parts.members.findIndex((member) => member.key === key);
  }

  /** Tells the client that a list is another one. */
  tellChanged(kind: ListKind): void {
    const method = `notifications/${kind}/list_changed`;
    if (LIST_CHANGED.has(method)) this.#client.notify(callMessage(method), method);
  }

  leave(): void {
    for (const seat of this.#seats) seat.leave();
  }

  #welcomeParts(capabilitiesOf: (identity: ServerIdentity) => JsonObject): WelcomePart[] {
    return this.#parts.members.flatMap(({ key }, index) => {
      if (!this.#opens(key)) return [];
      const identity = this.links[index]?.seat?.identity;
      const capabilities = identity && capabilitiesOf(identity);
      const instructions = identity?.hello['instructions'];
      return [{ key, capabilities, instructions, namePrefix: this.#parts.composer.prefixOf(key) }];
    });
  }

  get #seats(): Seat[] {
    return this.links.flatMap(({ seat }) => seat ?? []);
  }

  #link(index: number): Link {
    const member = this.#parts.members[index];
    const key = member?.key ?? '';
    const expose: ExposeUri = (uri, effort) =>
      this.view.knownResources().table.exposed(key, uri, effort);
    const client = new MemberClient(this.#client, {
      expose,
      told: (uri) => this.watched.nameOf(key, uri) ?? expose(uri),
      shows: (uri) => member !== undefined && this.#shows(member, uri),
    });
    if (member === undefined || !this.#opens(member.key)) return { client, seat: undefined };
    try {
      const seat = member.backend.place(client);
      seat.onUp = () => this.#isUp(index);
      this.#refusals.delete(index);
      return { client, seat };
    } catch (error) {
      this.#refused(index, error);
      return { client, seat: undefined };
    }
  }

  #refused(index: number, error: unknown): void {
    this.#failure ??= error;
    if (!this.#refusals.has(index)) {
      this.#parts.logger.warn(
        { server: this.#parts.members[index]?.key, reason: messageOf(error) },
        'no instance available for this client; the server is left out of the endpoint',
      );
    }
    this.#refusals.set(index, error);
  }

  #opens(key: string): boolean {
    return this.#parts.visibility.opens(this.#client.principal, key);
  }

  #shows({ key, catalog }: Member, uri: string): boolean {
    const item = { server: key, kind: 'resource', name: uri } as const;
    return (
      catalog.showsResource(uri) && this.#parts.visibility.allows(this.#client.principal, item)
    );
  }

  #isUp(index: number): void {
    this.#parts.members[index]?.patience.ready();
    this.view.isUp(index);
    this.#onUp(index);
  }
}
