// The instances of a server that are not shared by everybody: which client has which, and how long
// one is kept, and its process, when nobody seems to need it (docs/configuration.md#serversname).

import { after, every, monotonicMs, type Timer } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { isModernVersion } from '../mcp/versions.ts';
import type { Logger } from '../observe/logger.ts';
import type { Downstream } from '../ports/downstream.ts';
import { quotaKeyOf } from '../ports/principal.ts';
import type { Instance } from './instance.ts';
import { PrivateInstance } from './private-instance.ts';
import type { ProcessBudget, ProcessSlot } from './process-budget.ts';

/**
 * A modern client has no session that would end, and its server may keep state between its requests:
 * the instance is kept as long as an idle session is.
 */
const KEPT_FOR_MODERN_MS = 1_800_000;
/** How often it is looked whose clients are absent. */
const SWEEPS = 4;

/** What the private instances of a server need of it. */
export interface PrivateInstancesParts {
  readonly server: string;
  readonly sharing: 'principal' | 'session';
  /** Whether a new process can be told what the last one was: plain JSON-RPC has no handshake. */
  readonly isReplaceable: boolean;
  /** After this the process of clients that are absent is stopped; 0 is never. */
  readonly absentMs: number;
  /** The same where a client never opened a stream. */
  readonly unheardMs: number;
  readonly budget: ProcessBudget;
  readonly logger: Logger;
  /**
   * What of a client makes another instance necessary, besides who it is; empty when nothing does.
   * @throws GatewayError when the client lacks something that its instance needs
   */
  instanceFingerprint(client: Downstream): string;
  create(client: Downstream, key: string, takePlace: () => ProcessSlot): Instance;
}

/** Private instances of one server. */
export class PrivateInstances {
  readonly #parts: PrivateInstancesParts;
  readonly #byKey = new Map<string, PrivateInstance>();
  readonly #byInstance = new Map<Instance, PrivateInstance>();
  readonly #closing = new Set<Promise<void>>();
  #sweeper: Timer | undefined;
  #sessions = 0;

  constructor(parts: PrivateInstancesParts) {
    this.#parts = parts;
  }

  all(): Instance[] {
    return [...this.#byInstance.keys()];
  }

  /**
   * The instance of a client; give it back with `release`.
   * @throws GatewayError when no process may be started for it
   */
  acquire(client: Downstream): Instance {
    const fingerprint = this.#parts.instanceFingerprint(client);
    const key = this.#keyOf(client, fingerprint);
    return this.#use(this.#byKey.get(key) ?? this.#create(client, key, fingerprint), client);
  }

  /**
   * The instance of a client, if it is there already; give it back with `release`.
   * @throws GatewayError when the client lacks something that its instance needs
   */
  acquireIfThere(client: Downstream): Instance | undefined {
    const entry = this.#byKey.get(this.#keyOf(client, this.#parts.instanceFingerprint(client)));
    return entry && this.#use(entry, client);
  }

  /**
   * An instance that is there already; give it back with `release`.
   * @param name of it, as `nameOf` has it
   * @returns undefined when there is none of that name for the client's principal and credentials
   */
  acquireNamed(client: Downstream, name: string): Instance | undefined {
    const entry = this.#byKey.get(name);
    if (entry?.principalKey !== client.principal.key) return undefined;
    if (!this.#isMadeFor(entry, client)) return undefined;
    return this.#use(entry, client);
  }

  #isMadeFor({ fingerprint }: PrivateInstance, client: Downstream): boolean {
    try {
      return fingerprint === this.#parts.instanceFingerprint(client);
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
  }

  /** What an instance is called. */
  nameOf(instance: Instance): string {
    return this.#byInstance.get(instance)?.key ?? '';
  }

  #use(entry: PrivateInstance, client: Downstream): Instance {
    entry.enter(client);
    entry.timer?.cancel();
    entry.instance.seen(client.principal);
    if (isModernVersion(client.version)) entry.keptMs = KEPT_FOR_MODERN_MS;
    return entry.instance;
  }

  /** A client is done with its instance. */
  release(instance: Instance, client: Downstream): void {
    const entry = this.#byInstance.get(instance);
    if (entry === undefined) return;
    entry.leave(client);
    if (entry.isInUse) return;
    if (entry.keptMs === 0) this.#end(entry);
    else entry.timer = after(entry.keptMs, () => this.#end(entry));
  }

  /** Ends all of them. */
  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    for (const entry of [...this.#byKey.values()]) this.#end(entry, reason);
    await Promise.all(this.#closing);
  }

  #keyOf(client: Downstream, fingerprint: string): string {
    return `${this.#ownerKeyOf(client)}${fingerprint}`;
  }

  #ownerKeyOf(client: Downstream): string {
    if (this.#parts.sharing === 'principal') return `principal ${client.principal.key}`;
    if (!isModernVersion(client.version)) return `session ${++this.#sessions}`;
    return `modern ${client.principal.key} ${jsonText(sorted(client.capabilities))}`;
  }

  #create(client: Downstream, key: string, fingerprint: string): PrivateInstance {
    const { server, isReplaceable, budget } = this.#parts;
    const entry = new PrivateInstance(
      {
        key,
        principalKey: client.principal.key,
        quotaKey: quotaKeyOf(client.principal),
        fingerprint,
        server,
        isReplaceable,
        end: (unused) => this.#end(unused),
      },
      (owner) => this.#parts.create(client, key, () => budget.take(owner)),
    );
    // Whoever comes when there are too many is told so at once.
    entry.instance.takeSlot();
    this.#byKey.set(key, entry);
    this.#byInstance.set(entry.instance, entry);
    this.#watchAbsent();
    return entry;
  }

  #watchAbsent(): void {
    const { absentMs } = this.#parts;
    if (absentMs > 0) this.#sweeper ??= every(absentMs / SWEEPS, () => this.#sweep());
  }

  /** Stops processes whose clients probably left without a word. */
  #sweep(): void {
    const { absentMs, unheardMs, logger } = this.#parts;
    const nowMs = monotonicMs();
    for (const entry of this.#byKey.values()) {
      // Those without a client have a timer of their own.
      if (!entry.isInUse || !entry.instance.hasProcess) continue;
      const { idleSinceMs, isUnheard } = entry;
      const limitMs = isUnheard ? unheardMs : absentMs;
      if (idleSinceMs === undefined || nowMs - idleSinceMs < limitMs) continue;
      logger.info({ key: entry.key }, 'server stopped, since its clients are absent');
      entry.instance.stopIdle();
    }
  }

  #end(entry: PrivateInstance, reason?: 'server_unavailable' | 'draining'): void {
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

/** The same capabilities in another order are the same. */
function sorted(value: unknown): unknown {
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}
