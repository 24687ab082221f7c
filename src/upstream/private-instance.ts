// One instance that is not shared by everybody: which clients have it, and since when none of them
// seems to need its process.
import type { Timer } from '../base/clock.ts';
import { monotonicMs } from '../base/clock.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Instance } from './instance.ts';
import type { SlotOwner } from './process-budget.ts';

/** Who a private instance is for. */
export interface PrivateInstanceParts {
  readonly key: string;
  readonly principalKey: string;
  readonly quotaKey: string;
  /** What it is made with of its clients' credentials. */
  readonly fingerprint: string;
  readonly server: string;
  /** Whether a new process can take the place of the last one, which no client of its notices. */
  readonly isReplaceable: boolean;
  /** Ends it for good, as nobody has it. */
  end(entry: PrivateInstance): void;
}

/** An instance of some clients. */
export class PrivateInstance implements SlotOwner {
  readonly key: string;
  readonly principalKey: string;
  readonly quotaKey: string;
  readonly fingerprint: string;
  readonly server: string;
  readonly instance: Instance;
  /** How long it stays without a client. */
  keptMs = 0;
  timer: Timer | undefined;
  readonly #isReplaceable: boolean;
  readonly #end: PrivateInstanceParts['end'];
  /** A client may have several places at once. */
  readonly #clients = new Map<Downstream, number>();
  #leftAtMs = monotonicMs();

  /** @param create makes the instance of this owner of its process's slot */
  constructor(parts: PrivateInstanceParts, create: (owner: SlotOwner) => Instance) {
    this.key = parts.key;
    this.principalKey = parts.principalKey;
    this.quotaKey = parts.quotaKey;
    this.fingerprint = parts.fingerprint;
    this.server = parts.server;
    this.#isReplaceable = parts.isReplaceable;
    this.#end = parts.end;
    this.instance = create(this);
  }

  get isInUse(): boolean {
    return this.#clients.size > 0;
  }

  enter(client: Downstream): void {
    this.#clients.set(client, (this.#clients.get(client) ?? 0) + 1);
  }

  leave(client: Downstream): void {
    const held = (this.#clients.get(client) ?? 0) - 1;
    if (held > 0) this.#clients.set(client, held);
    else this.#clients.delete(client);
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

  /** Whether a client of its never opened a stream, and may be there all the same. */
  get isUnheard(): boolean {
    for (const { hasListened } of this.#clients.keys()) if (hasListened === false) return true;
    return false;
  }

  evict(): void {
    if (this.isInUse) this.instance.stopIdle();
    else this.#end(this);
  }
}
