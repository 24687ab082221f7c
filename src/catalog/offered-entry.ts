// An entry of an endpoint's list. Its texts are made when they are needed: most entries of long lists are
// never read.
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
  /** The index of its server. */
  readonly member: number;
  /** The name, URI or template that clients see. */
  readonly name: string;
  /** The server's own name. */
  readonly upstream: string;
  /** The text that the server sent. */
  readonly ownText: Buffer;
  /** For a tool that is not called exactly as the client says. */
  readonly toolPolicy: ToolPolicy | undefined;
  readonly #method: ListMethod;
  readonly #text: Buffer;
  readonly #era: Era;
  readonly #pageOf: (uri: string) => string;
  #upstreamText: Buffer | undefined;
  #namedText: Buffer | undefined;
  #legacyText: Buffer | undefined;
  #modernText: Buffer | undefined;

  /** @param to.pageOf changes the URI of a tool's app page for clients */
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

  /** The server's own name, as JSON text. */
  get upstreamText(): Buffer {
    this.#upstreamText ??= jsonBytes(this.upstream);
    return this.#upstreamText;
  }

  /** For legacy clients. */
  get legacyText(): Buffer {
    const isWrapped = this.#method === TOOLS_LIST && this.#era === 'modern';
    this.#legacyText ??= isWrapped ? legacyTool(this.#named) : this.#named;
    return this.#legacyText;
  }

  /** For modern clients. */
  get modernText(): Buffer {
    this.#modernText ??= this.#method === TOOLS_LIST ? modernTool(this.#named) : this.#named;
    return this.#modernText;
  }

  /** The text with the name that clients see. */
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
