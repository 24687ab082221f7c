// An entry of an endpoint's list. It gets its texts when they are asked for: nobody looks at most entries
// of long lists.
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { TOOLS_LIST } from '../mcp/methods.ts';
import { legacyTool } from '../translate/output-schemas.ts';
import { modernTool } from '../translate/tool-lists.ts';
import { LISTS, type ListMethod } from './list-kinds.ts';
import type { Era } from './listing.ts';
import type { ShownEntry, ToolPolicy } from './member-catalog.ts';
import { exposePage, withMember } from './resource-texts.ts';

/** A tool, prompt, resource or template as clients see it. */
export class OfferedEntry {
  /** Which of the endpoint's servers has it. */
  readonly member: number;
  /** Name, URI or template as clients see it. */
  readonly name: string;
  /** As the server calls it. */
  readonly upstream: string;
  /** As the server wrote it. */
  readonly ownText: Buffer;
  /** Of a tool that is not called just as the client says. */
  readonly toolPolicy: ToolPolicy | undefined;
  readonly #method: ListMethod;
  readonly #text: Buffer;
  readonly #era: Era;
  readonly #pageOf: (uri: string) => string;
  #upstreamText: Buffer | undefined;
  #namedText: Buffer | undefined;
  #legacyText: Buffer | undefined;
  #modernText: Buffer | undefined;

  /** @param to.pageOf what the page of a tool's app is to clients */
  constructor(
    method: ListMethod,
    { upstream, text, ownText, toolPolicy }: Omit<ShownEntry, 'name'>,
    to: {
      readonly exposed: string;
      readonly member: number;
      readonly era: Era;
      readonly pageOf: (uri: string) => string;
    },
  ) {
    this.member = to.member;
    this.name = to.exposed;
    this.upstream = upstream;
    this.ownText = ownText;
    this.toolPolicy = toolPolicy;
    this.#method = method;
    this.#text = text;
    this.#era = to.era;
    this.#pageOf = to.pageOf;
  }

  /** What the server calls it, as JSON text. */
  get upstreamText(): Buffer {
    this.#upstreamText ??= jsonBytes(this.upstream);
    return this.#upstreamText;
  }

  /** For clients of the session era. */
  get legacyText(): Buffer {
    const isWrapped = this.#method === TOOLS_LIST && this.#era === 'modern';
    this.#legacyText ??= isWrapped ? legacyTool(this.#named) : this.#named;
    return this.#legacyText;
  }

  /** For clients of 2026-07-28. */
  get modernText(): Buffer {
    this.#modernText ??= this.#method === TOOLS_LIST ? modernTool(this.#named) : this.#named;
    return this.#modernText;
  }

  /** With the name that clients see. */
  get #named(): Buffer {
    if (this.#namedText === undefined) {
      const isTool = this.#method === TOOLS_LIST;
      const text = isTool ? exposePage(this.#text, this.#pageOf) : this.#text;
      const isSame = this.name === this.upstream;
      this.#namedText = isSame ? text : withMember(text, LISTS[this.#method].named, this.name);
    }
    return this.#namedText;
  }
}
