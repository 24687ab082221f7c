// The calls at one connection to a server, by the id that the server knows. Counts what is in
// flight; calls whose caller left stay in the table until the server answers or they are too old,
// since a server may still ask on their behalf (docs/adr/0003).
import { monotonicMs } from '../base/clock.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Call } from './call.ts';
import type { InteractiveTools } from './interactive-tools.ts';
import type { RecentCallers } from './recent-callers.ts';

/** Abandoned calls that are remembered; beyond it the oldest is forgotten. */
const MAX_ABANDONED = 1024;

/** Calls in flight. */
export class CallTable {
  readonly #calls = new Map<number, Call>();
  readonly #recent: RecentCallers;
  #abandoned = 0;
  #own = 0;
  /** The tools that the calls in flight were matched with last. */
  #toolsVersion = 0;
  /**
   * How many calls of interactive tools each client waits for. There is more than one client only
   * where a tool turned out to ask when its calls were in flight already.
   */
  readonly #interactiveClients = new Map<Downstream, number>();

  /** @param recent told whose calls are over */
  constructor(recent: RecentCallers) {
    this.#recent = recent;
  }

  /** Calls whose caller still waits. */
  get inFlight(): number {
    return this.#calls.size - this.#abandoned - this.#own;
  }

  /** The gateway's own requests. */
  get own(): number {
    return this.#own;
  }

  /**
   * Whether a call of an interactive tool of a client other than `client` is in flight.
   * @param tools as they are known now
   */
  hasInteractiveCallOfOthers(client: Downstream, tools: InteractiveTools): boolean {
    if (this.#toolsVersion !== tools.version) {
      this.#toolsVersion = tools.version;
      this.#noteInteractive(tools);
    }
    return this.#interactiveClients.size > (this.#interactiveClients.has(client) ? 1 : 0);
  }

  get size(): number {
    return this.#calls.size;
  }

  open(call: Call): void {
    this.#calls.set(call.id, call);
    if (call.client === undefined) this.#own++;
    if (call.interactiveTool !== undefined) this.#addInteractive(call);
  }

  find(id: number): Call | undefined {
    return this.#calls.get(id);
  }

  /** Takes a call out, answered or given up for good. */
  settle(call: Call): void {
    if (!this.#calls.delete(call.id)) return;
    if (call.client === undefined) this.#own--;
    else this.#recent.note(call.client, monotonicMs());
    if (call.abandonedAtMs !== undefined) this.#abandoned--;
    else if (call.interactiveTool !== undefined) this.#removeInteractive(call);
  }

  /** Keeps a call only as somebody who may still be asked for. */
  abandon(call: Call, nowMs: number): void {
    if (!this.#calls.has(call.id) || call.abandonedAtMs !== undefined) return;
    call.abandonedAtMs = nowMs;
    this.#abandoned++;
    if (call.interactiveTool !== undefined) this.#removeInteractive(call);
    call.letGo();
    if (this.#abandoned > MAX_ABANDONED) this.#forgetOldest();
  }

  /**
   * Puts the calls in flight into the exclusive group whose tool was not known to ask when they
   * were sent.
   */
  #noteInteractive(tools: InteractiveTools): void {
    for (const call of this.#calls.values()) {
      if (call.interactiveTool !== undefined || call.request === undefined) continue;
      call.interactiveTool = tools.match(call.request.frame);
      if (call.interactiveTool !== undefined) this.#addInteractive(call);
    }
  }

  #addInteractive({ client }: Call): void {
    if (client === undefined) return;
    this.#interactiveClients.set(client, (this.#interactiveClients.get(client) ?? 0) + 1);
  }

  #removeInteractive({ client }: Call): void {
    if (client === undefined) return;
    const left = (this.#interactiveClients.get(client) ?? 0) - 1;
    if (left > 0) this.#interactiveClients.set(client, left);
    else this.#interactiveClients.delete(client);
  }

  #forgetOldest(): void {
    for (const call of this.#calls.values()) {
      if (call.abandonedAtMs === undefined) continue;
      this.settle(call);
      return;
    }
  }

  /** All calls, oldest first. */
  all(): IterableIterator<Call> {
    return this.#calls.values();
  }

  /** Takes every call out and returns them. */
  clear(): Call[] {
    const calls = [...this.#calls.values()];
    for (const { client } of calls) {
      if (client !== undefined) this.#recent.note(client, monotonicMs());
    }
    this.#calls.clear();
    this.#abandoned = 0;
    this.#own = 0;
    this.#interactiveClients.clear();
    return calls;
  }
}
