// The lists of all servers. Each server has one reader, which the catalog and all users of tool lists share.
import { monotonicMs, within } from '../base/clock.ts';
import { type HeldBytes, UNBOUNDED } from '../base/held-bytes.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import type { Logger } from '../observe/logger.ts';
import type { Lease, ServerIdentity } from '../ports/lease.ts';
import type { ToolSource, ToolTexts } from '../ports/tool-source.ts';
import { ServerLists } from './server-lists.ts';

/** How long a call waits for the tool list of its server, once. */
const WAIT_MS = 1_000;
/** When a slow server is asked for its list again, while calls go on without it. */
const AGAIN_MS = 30_000;

/** The lists by server. */
export class AllLists implements ToolSource {
  readonly #logger: Logger;
  readonly #held: HeldBytes;
  readonly #byServer = new Map<string, ServerLists>();
  /**
   * Servers that did not send the list in time since their last start, and when they are asked again, in
   * monotonic milliseconds.
   */
  readonly #late = new WeakMap<ServerIdentity, number>();

  /** @param held counts the bytes of lists */
  constructor(logger: Logger, held: HeldBytes = UNBOUNDED) {
    this.#logger = logger;
    this.#held = held;
  }

  /** The lists of a configured server. */
  of(server: string): ServerLists {
    let lists = this.#byServer.get(server);
    if (lists === undefined) {
      lists = new ServerLists(server, this.#logger, () => this.#held.server(server));
      this.#byServer.set(server, lists);
    }
    return lists;
  }

  /** The server is none of the configuration any more. */
  forget(server: string): void {
    this.#byServer.delete(server);
  }

  current(lease: Lease): ToolTexts | undefined {
    return this.of(lease.server).current(lease, TOOLS_LIST)?.entries;
  }

  async read(lease: Lease): Promise<ToolTexts | undefined> {
    if (lease.isDown) return undefined;
    try {
      // The call itself must wait for the start of its server.
      await lease.running();
    } catch {
      return undefined; // the instance has logged the reason
    }
    const { identity } = lease;
    if (identity === undefined) return undefined;
    const againMs = this.#late.get(identity);
    if (againMs === undefined) {
      const tools = await within(WAIT_MS, this.#ask(lease, identity));
      if (tools === undefined) this.#noteLate(identity);
      return tools;
    }
    if (monotonicMs() >= againMs) {
      this.#noteLate(identity);
      void this.#ask(lease, identity);
    }
    return undefined;
  }

  async #ask(lease: Lease, identity: ServerIdentity): Promise<ToolTexts | undefined> {
    const list = await this.of(lease.server).read(lease, TOOLS_LIST);
    if (list !== undefined) this.#late.delete(identity);
    return list?.entries;
  }

  #noteLate(identity: ServerIdentity): void {
    this.#late.set(identity, monotonicMs() + AGAIN_MS);
  }
}
