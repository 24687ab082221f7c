// The instances of a server that are not shared by everybody: which client has which, how long one
// is kept without clients, and how many there may be (design.md 5.1).

import { after, type Timer } from '../base/clock.ts';
import { isObject } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { isModernVersion } from '../mcp/versions.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Instance } from './instance.ts';
import type { ProcessBudget } from './process-budget.ts';

/**
 * A modern client has no session that would end, and its server may keep state between its requests:
 * the instance is kept as long as an idle session is.
 */
const KEPT_FOR_MODERN_MS = 1_800_000;

interface Entry {
  readonly key: string;
  readonly principalKey: string;
  readonly instance: Instance;
  /** Seats that are taken. */
  users: number;
  /** How long it stays without a user. */
  keptMs: number;
  timer: Timer | undefined;
}

/** Private instances of one server. */
export class PrivateInstances {
  readonly #parts: {
    readonly server: string;
    readonly sharing: 'principal' | 'session';
    readonly budget: ProcessBudget;
    /**
     * What of a client makes another instance necessary, besides who it is; empty when nothing does.
     * @throws GatewayError when the client lacks something that its instance needs
     */
    variantOf(client: Downstream): string;
    create(client: Downstream, key: string): Instance;
  };
  readonly #byKey = new Map<string, Entry>();
  readonly #byInstance = new Map<Instance, Entry>();
  readonly #closing = new Set<Promise<void>>();
  #sessions = 0;

  constructor(parts: {
    readonly server: string;
    readonly sharing: 'principal' | 'session';
    readonly budget: ProcessBudget;
    /**
     * What of a client makes another instance necessary, besides who it is; empty when nothing does.
     * @throws GatewayError when the client lacks something that its instance needs
     */
    variantOf(client: Downstream): string;
    create(client: Downstream, key: string): Instance;
  }) {
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
    const isModern = isModernVersion(client.version);
    const key = `${this.#keyOf(client, isModern)}${this.#parts.variantOf(client)}`;
    return this.#use(this.#byKey.get(key) ?? this.#create(client, key), client);
  }

  /**
   * An instance that is there already; give it back with `release`.
   * @param name of it, as `nameOf` has it
   * @returns undefined when there is none of that name for the client's principal
   */
  acquireNamed(client: Downstream, name: string): Instance | undefined {
    const entry = this.#byKey.get(name);
    if (entry?.principalKey !== client.principal.key) return undefined;
    return this.#use(entry, client);
  }

  /** What an instance is called. */
  nameOf(instance: Instance): string {
    return this.#byInstance.get(instance)?.key ?? '';
  }

  #use(entry: Entry, client: Downstream): Instance {
    entry.users++;
    entry.timer?.cancel();
    entry.instance.seen(client.principal);
    if (isModernVersion(client.version)) entry.keptMs = KEPT_FOR_MODERN_MS;
    return entry.instance;
  }

  /** A client is done with its instance. */
  release(instance: Instance): void {
    const entry = this.#byInstance.get(instance);
    if (entry === undefined) return;
    entry.users--;
    if (entry.users > 0) return;
    if (entry.keptMs === 0) {
      this.#end(entry);
      return;
    }
    // The map is in the order of last use.
    this.#byKey.delete(entry.key);
    this.#byKey.set(entry.key, entry);
    entry.timer = after(entry.keptMs, () => this.#end(entry));
  }

  /** Ends all of them. */
  async close(reason: 'server_unavailable' | 'draining'): Promise<void> {
    for (const entry of [...this.#byKey.values()]) this.#end(entry, reason);
    await Promise.all(this.#closing);
  }

  #keyOf(client: Downstream, isModern: boolean): string {
    if (this.#parts.sharing === 'principal') return `principal ${client.principal.key}`;
    if (!isModern) return `session ${++this.#sessions}`;
    return `modern ${client.principal.key} ${jsonText(sorted(client.capabilities))}`;
  }

  #create(client: Downstream, key: string): Entry {
    const principalKey = client.principal.key;
    try {
      this.#parts.budget.acquire(principalKey, this.#parts.server);
    } catch (error) {
      // Makes room for whoever asks next, once the process is gone.
      this.#endLongestUnused();
      throw error;
    }
    const instance = this.#parts.create(client, key);
    const entry: Entry = { key, principalKey, instance, users: 0, keptMs: 0, timer: undefined };
    this.#byKey.set(key, entry);
    this.#byInstance.set(instance, entry);
    return entry;
  }

  #endLongestUnused(): void {
    for (const entry of this.#byKey.values()) {
      if (entry.users > 0) continue;
      this.#end(entry);
      return;
    }
  }

  #end(entry: Entry, reason?: 'server_unavailable' | 'draining'): void {
    entry.timer?.cancel();
    this.#byKey.delete(entry.key);
    this.#byInstance.delete(entry.instance);
    const closed = entry.instance.close(reason).finally(() => {
      this.#parts.budget.release(entry.principalKey);
      this.#closing.delete(closed);
    });
    this.#closing.add(closed);
  }
}

/** The same capabilities in another order are the same. */
function sorted(value: unknown): unknown {
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}
