// The calls at one connection, by the id that the server sees. Counts the calls in flight. Abandoned calls
// stay in the table until the server answers or they are too old, because the server may still send requests
// for them (docs/adr/0003).
import { monotonicMs } from '../base/clock.ts';
import type { Downstream } from '../ports/downstream.ts';
import type { Call } from './call.ts';
import type { InteractiveTools } from './interactive-tools.ts';
import type { RecentCallers } from './recent-callers.ts';

/** The most abandoned calls; beyond it the oldest one is dropped. */
const MAX_ABANDONED = 1024;

/** Calls in flight. */
export class CallTable {
  readonly #calls = new Map<number, Call>();
  readonly #recent: RecentCallers;
  #abandoned = 0;
  #own = 0;
  /** The version of the interactive tools that the calls were last compared with. */
  #toolsVersion = 0;
  /**
   * The number of interactive calls of each client. There is more than one client only if a tool turned out
   * to be interactive when its calls were already in flight.
   */
  readonly #interactiveClients = new Map<Downstream, number>();

  /** @param recent notes clients whose calls are over */
  constructor(recent: RecentCallers) {
    this.#recent = recent;
  }

  /** The number of calls whose caller waits. */
  get inFlight(): number {
    return this.#calls.size - this.#abandoned - this.#own;
  }

  /** The number of the gateway's own requests. */
  get own(): number {
    return this.#own;
  }

  /**
   * Whether another client than `client` has an interactive call in flight.
   * @param tools the interactive tools that are known now
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

  /** Removes a call that was answered or given up. */
  settle(call: Call): void {
    if (!this.#calls.delete(call.id)) return;
    if (call.client === undefined) this.#own--;
    else this.#recent.note(call.client, monotonicMs());
    if (call.abandonedAtMs !== undefined) this.#abandoned--;
    else if (call.interactiveTool !== undefined) this.#removeInteractive(call);
  }

  /** Marks a call as abandoned: it stays only because the server may still send requests for it. */
  abandon(call: Call, nowMs: number): void {
    if (!this.#calls.has(call.id) || call.abandonedAtMs !== undefined) return;
    call.abandonedAtMs = nowMs;
    this.#abandoned++;
    if (call.interactiveTool !== undefined) this.#removeInteractive(call);
    call.letGo();
    if (this.#abandoned > MAX_ABANDONED) this.#forgetOldest();
  }

  /** Counts calls in flight as interactive whose tools have become known since. */
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

  /** Removes all calls and returns them. */
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
