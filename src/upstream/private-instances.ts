// The private instances of a server: which client has which one, and how long an instance and its process are
// kept when nobody seems to need them (docs/configuration.md#serversname).

import { after, every, monotonicMs, type Timer } from '../base/clock.ts';
import { Counts } from '../base/counts.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { isModernVersion } from '../mcp/versions.ts';
import type { Downstream } from '../ports/downstream.ts';
import { quotaKeyOf } from '../ports/principal.ts';
import type { Request } from '../ports/request.ts';
import { instanceFingerprint } from './credential-fingerprint.ts';
import { identityOf } from './handshake.ts';
import { Instance } from './instance.ts';
import type { InstancePool } from './instance-lease.ts';
import type { SlotOwner } from './process-budget.ts';
import type { ServerContext } from './server-context.ts';

/** How often absent clients are looked for, in the shortest of the times below. */
const SWEEPS = 4;

/** A client that had a stream, but has none now, has probably disconnected after this time without a call. */
const ABSENT_MS = 300_000;
/**
 * The same for a client that never opened one: some don't, and only their calls show that they are connected.
 */
const UNHEARD_MS = 1_800_000;

/** A private instance with its clients. */
class PrivateInstance implements SlotOwner {
  readonly key: string;
  readonly principalKey: string;
  readonly quotaKey: string;
  /** The fingerprint of its clients' credentials. */
  readonly fingerprint: string;
  readonly server: string;
  readonly instance: Instance;
  /** How long it is kept without a client, in milliseconds. */
  keptMs = 0;
  timer: Timer | undefined;
  readonly #pool: PrivateInstances;
  /**
   * Whether a new process can be given the same handshake as the last one: plain JSON-RPC has no handshake.
   */
  readonly #isReplaceable: boolean;
  /** A client may have several leases at once. */
  readonly #clients = new Counts<Downstream>();
  #leftAtMs = monotonicMs();

  /** @param client the first one */
  constructor(
    pool: PrivateInstances,
    server: ServerContext,
    client: Downstream,
    { key, fingerprint }: Pick<PrivateInstance, 'key' | 'fingerprint'>,
  ) {
    const { options, logger } = server;
    this.#pool = pool;
    this.key = key;
    this.fingerprint = fingerprint;
    this.principalKey = client.principal.key;
    this.quotaKey = quotaKeyOf(client.principal);
    this.server = options.name;
    this.#isReplaceable = options.protocol === 'mcp';
    const identity = identityOf(client, options.sharing === 'session');
    this.instance = new Instance(server, identity, logger.child({ key }), this);
  }

  get isInUse(): boolean {
    return this.#clients.size > 0;
  }

  enter(client: Downstream): void {
    this.#clients.add(client);
  }

  leave(client: Downstream): void {
    this.#clients.remove(client);
    this.#leftAtMs = monotonicMs();
  }

  get idleSinceMs(): number | undefined {
    if (!this.instance.isUnused) return undefined;
    if (!this.isInUse) return this.#leftAtMs;
    if (!this.#isReplaceable) return undefined;
    let sinceMs = 0;
    for (const { absentSinceMs } of this.#clients.keys()) {
      if (absentSinceMs === undefined) return undefined;
      sinceMs = Math.max(sinceMs, absentSinceMs);
    }
    return sinceMs;
  }

  /** Whether one of its clients never opened a stream, and may be connected all the same. */
  get isUnheard(): boolean {
    for (const { hasListened } of this.#clients.keys()) if (hasListened === false) return true;
    return false;
  }

  evict(): void {
    if (this.isInUse) this.instance.stopIdle();
    else this.#pool.end(this);
  }
}

/** Private instances of one server. */
export class PrivateInstances implements InstancePool {
  readonly #server: ServerContext;
  readonly #byKey = new Map<string, PrivateInstance>();
  readonly #byInstance = new Map<Instance, PrivateInstance>();
  readonly #closing = new Set<Promise<void>>();
  #sweeper: Timer | undefined;
  #isRetired = false;
  #sessions = 0;

  constructor(server: ServerContext) {
    this.#server = server;
  }

  get all(): Instance[] {
    return [...this.#byInstance.keys()];
  }

  acquire(client: Downstream): Instance {
    const fingerprint = this.#fingerprintOf(client);
    const key = this.#keyOf(client, fingerprint);
    return this.#use(this.#byKey.get(key) ?? this.#create(client, key, fingerprint), client);
  }

  acquireExisting(client: Downstream): Instance | undefined {
    const entry = this.#byKey.get(this.#keyOf(client, this.#fingerprintOf(client)));
    return entry && this.#use(entry, client);
  }

  acquireNamed(client: Downstream, name: string): Instance | undefined {
    const entry = this.#byKey.get(name);
    if (entry?.principalKey !== client.principal.key) return undefined;
    if (!this.#isMadeFor(entry, client)) return undefined;
    return this.#use(entry, client);
  }

  /**
   * What makes a separate instance necessary for clients of one principal; empty if nothing does.
   * @throws GatewayError if the client lacks something that its instance needs
   */
  #fingerprintOf({ principal }: Downstream): string {
    return instanceFingerprint(this.#server.options, principal);
  }

  #isMadeFor({ fingerprint }: PrivateInstance, client: Downstream): boolean {
    try {
      return fingerprint === this.#fingerprintOf(client);
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
  }

  nameOf(instance: Instance): string {
    return this.#byInstance.get(instance)?.key ?? '';
  }

  /** There is no other one. */
  instanceFor(_: Request, own: Instance): Instance {
    return own;
  }

  #use(entry: PrivateInstance, client: Downstream): Instance {
    entry.enter(client);
    entry.timer?.cancel();
    entry.instance.seen(client.principal);
    // Modern clients have no session that ends, and the server may keep state between their requests.
    if (isModernVersion(client.version)) entry.keptMs = this.#server.common.sessionIdleMs;
    return entry.instance;
  }

  release(instance: Instance, client: Downstream): void {
    const entry = this.#byInstance.get(instance);
    if (entry === undefined) return;
    entry.leave(client);
    if (entry.isInUse) return;
    if (this.#isRetired) this.#endUnused(entry);
    else if (entry.keptMs === 0) this.end(entry);
    else entry.timer = after(entry.keptMs, () => this.end(entry));
  }

  retire(): void {
    this.#isRetired = true;
    for (const entry of [...this.#byKey.values()]) if (!entry.isInUse) this.#endUnused(entry);
  }

  /** Calls in flight are waited for by whoever closes the pool. */
  #endUnused(entry: PrivateInstance): void {
    entry.timer?.cancel();
    if (entry.instance.load === 0) this.end(entry);
  }

  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    for (const entry of [...this.#byKey.values()]) this.end(entry, reason);
    await Promise.all(this.#closing);
  }

  #keyOf(client: Downstream, fingerprint: string): string {
    return `${this.#ownerKeyOf(client)}${fingerprint}`;
  }

  #ownerKeyOf(client: Downstream): string {
    if (this.#server.options.sharing === 'principal') return `principal ${client.principal.key}`;
    if (!isModernVersion(client.version)) return `session ${++this.#sessions}`;
    return `modern ${client.principal.key} ${jsonText(sorted(client.capabilities))}`;
  }

  #create(client: Downstream, key: string, fingerprint: string): PrivateInstance {
    const entry = new PrivateInstance(this, this.#server, client, { key, fingerprint });
    // If there are too many, the client gets the error at once.
    entry.instance.takeSlot();
    this.#byKey.set(key, entry);
    this.#byInstance.set(entry.instance, entry);
    this.#watchAbsent();
    return entry;
  }

  #watchAbsent(): void {
    const absentMs = this.#server.options.timeouts.idle ?? ABSENT_MS;
    if (absentMs > 0) this.#sweeper ??= every(absentMs / SWEEPS, () => this.#sweep());
  }

  /** Stops processes whose clients have probably disconnected. */
  #sweep(): void {
    const { options, logger } = this.#server;
    const { idle } = options.timeouts;
    const nowMs = monotonicMs();
    for (const entry of this.#byKey.values()) {
      // Instances without clients have their own timer.
      if (!entry.isInUse || !entry.instance.hasProcess) continue;
      const { idleSinceMs, isUnheard } = entry;
      const limitMs = idle ?? (isUnheard ? UNHEARD_MS : ABSENT_MS);
      if (idleSinceMs === undefined || nowMs - idleSinceMs < limitMs) continue;
      logger.info({ key: entry.key }, 'server stopped, because its clients are gone');
      entry.instance.stopIdle();
    }
  }

  /** Ends an instance for good, because it has no clients. */
  end(entry: PrivateInstance, reason?: 'server_unavailable' | 'draining'): void {
    entry.timer?.cancel();
    this.#byKey.delete(entry.key);
    this.#byInstance.delete(entry.instance);
    if (this.#byKey.size === 0) {
      this.#sweeper?.cancel();
      this.#sweeper = undefined;
    }
    const closed = entry.instance.close(reason).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}

/** The order of capabilities does not matter. */
function sorted(value: unknown): unknown {
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}
