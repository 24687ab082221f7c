// Facts about a server's tools, which the translation needs. Made once for each list.
import type { Lease } from '../ports/lease.ts';
import type { ToolSource, ToolTexts } from '../ports/tool-source.ts';

/** Facts about the tools of any server. */
export class ToolFacts<Facts> {
  readonly #source: ToolSource;
  readonly #make: (tools: ToolTexts) => Facts;
  readonly #made = new WeakMap<ToolTexts, Facts>();

  /** @param make gets the facts from a list */
  constructor(source: ToolSource, make: (tools: ToolTexts) => Facts) {
    this.#source = source;
    this.#make = make;
  }

  /** The facts about a server's current tools; undefined if they must be read first. */
  known(lease: Lease): Facts | undefined {
    const tools = this.#source.current(lease);
    return tools && this.#of(tools);
  }

  /** Reads the list of tools. If that fails, the server has none. */
  async read(lease: Lease): Promise<Facts> {
    const tools = await this.#source.read(lease);
    return tools === undefined ? this.#make([]) : this.#of(tools);
  }

  #of(tools: ToolTexts): Facts {
    let facts = this.#made.get(tools);
    if (facts === undefined) {
      facts = this.#make(tools);
      this.#made.set(tools, facts);
    }
    return facts;
  }
}
