// What the translation knows of a server's tools: made once of each list that the owner of lists
// has.
import type { Lease } from '../ports/lease.ts';
import type { ToolSource, ToolTexts } from '../ports/tool-source.ts';

/** Facts about the tools of any server. */
export class ToolFacts<Facts> {
  readonly #source: ToolSource;
  readonly #make: (tools: ToolTexts) => Facts;
  readonly #made = new WeakMap<ToolTexts, Facts>();

  /** @param make gets the facts out of a list */
  constructor(source: ToolSource, make: (tools: ToolTexts) => Facts) {
    this.#source = source;
    this.#make = make;
  }

  /** What is known of a server's tools as they are now; undefined when they have to be read first. */
  known(lease: Lease): Facts | undefined {
    const tools = this.#source.current(lease);
    return tools && this.#of(tools);
  }

  /** Lists the tools. A server that fails to list them has none. */
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
