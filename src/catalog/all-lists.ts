// The lists of all servers, one reader for each: the catalog's, and that of everybody who wants to
// know something of a server's tools.
import { monotonicMs, within } from '../base/clock.ts';
import { type HeldBytes, UNBOUNDED } from '../base/held-bytes.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import type { Logger } from '../observe/logger.ts';
import type { Lease, ServerIdentity } from '../ports/lease.ts';
import type { ToolSource, ToolTexts } from '../ports/tool-source.ts';
import { ServerLists } from './server-lists.ts';

/** How long a call waits for the list of its server's tools, once. */
const WAIT_MS = 1_000;
/** When a server that did not give the list is asked for it again, beside a call. */
const AGAIN_MS = 30_000;

/** Lists by server. */
export class AllLists implements ToolSource {
  readonly #logger: Logger;
  readonly #held: HeldBytes;
  readonly #byServer = new Map<string, ServerLists>();
  /** Servers, in this life of theirs, that did not give the list in time, and when they are asked again. */
  readonly #late = new WeakMap<ServerIdentity, number>();

  /** @param held where lists count */
  constructor(logger: Logger, held: HeldBytes = UNBOUNDED) {
    this.#logger = logger;
    this.#held = held;
  }

  /** The lists of a server of the configuration. */
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
      // Its start is the call's own to wait for.
      await lease.running();
    } catch {
      return undefined; // the instance has logged why
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
