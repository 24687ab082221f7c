// A message as it travels through Sluice: its bytes as received and the spans of the few members that
// Sluice reads (docs/architecture.md#bytes-not-objects). Made by scan.ts, or from one of those by
// `replaced`; nobody changes one afterwards.

export type FrameKind = 'request' | 'notification' | 'response' | 'invalid';

/** Why a message is not a valid one. */
export type Fault =
  /** not JSON, or not UTF-8 */
  | 'json'
  /** nested deeper than the limit */
  | 'depth'
  /** a JSON array: a batch */
  | 'array'
  /** JSON, but not an object */
  | 'not-object'
  /** `jsonrpc` is not "2.0" */
  | 'version'
  /** `id` is neither string nor integer */
  | 'id'
  /** `method` is not a string */
  | 'method'
  /** `method` has characters that no method has */
  | 'characters'
  /** `params` is not an object */
  | 'params'
  /** more members than any message has */
  | 'members'
  /** a member that the gateway acts on stands twice, or in other spelling */
  | 'duplicate'
  /** longer than base/text-limits.ts has it */
  | 'long-method'
  | 'long-id'
  | 'long-token'
  | 'long-name'
  | 'long-uri'
  /** none of request, notification, response */
  | 'shape';

/** Where large values of a text end, by where they begin. */
export interface ValueEnds {
  get(start: number): number | undefined;
}

/** Offsets are into `bytes`; -1 means that the member is absent. Ends are exclusive. */
export class Frame {
  readonly bytes: Buffer;
  kind: FrameKind = 'invalid';
  fault: Fault | undefined = undefined;
  /** Decoded; empty for a response. */
  method = '';
  idStart = -1;
  idEnd = -1;
  paramsStart = -1;
  paramsEnd = -1;
  resultStart = -1;
  resultEnd = -1;
  errorStart = -1;
  errorEnd = -1;
  /** `params.name` */
  nameStart = -1;
  nameEnd = -1;
  /** `params.uri` */
  uriStart = -1;
  uriEnd = -1;
  /** `params.requestId` */
  requestIdStart = -1;
  requestIdEnd = -1;
  /** `params._meta` */
  metaStart = -1;
  metaEnd = -1;
  /** `params._meta.progressToken`, or `params.progressToken` of a progress notification */
  tokenStart = -1;
  tokenEnd = -1;
  /** `params.progress` */
  progressStart = -1;
  progressEnd = -1;
  /** `params.level` */
  levelStart = -1;
  levelEnd = -1;
  /** `params.id`, where `$/cancelRequest` of language servers names a request */
  paramIdStart = -1;
  paramIdEnd = -1;
  /** `params.inputResponses` and `params.requestState` of a retry (2026-07-28 basic/patterns/mrtr). */
  responsesStart = -1;
  responsesEnd = -1;
  stateStart = -1;
  stateEnd = -1;
  /** `result._meta`, `result.content` and `result.resultType` */
  resultMetaStart = -1;
  resultMetaEnd = -1;
  contentStart = -1;
  contentEnd = -1;
  resultTypeStart = -1;
  resultTypeEnd = -1;
  /** `params._meta["io.modelcontextprotocol/protocolVersion"]`: a claim to the modern era */
  claimStart = -1;
  claimEnd = -1;

  /** Where large values of a large message end, by where they begin (text-walk.ts). */
  ends: ValueEnds | undefined = undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** True when an `id` that can be echoed was read, even if the message is otherwise invalid. */
  get hasId(): boolean {
    return this.idStart >= 0;
  }

  /** The bytes of a member, or undefined when it is absent. */
  slice(start: number, end: number): Buffer | undefined {
    return start < 0 ? undefined : this.bytes.subarray(start, end);
  }

  /** The id as sent, or undefined. */
  get idBytes(): Buffer | undefined {
    return this.slice(this.idStart, this.idEnd);
  }

  /**
   * The same message with another string or number in place of the one that ends at `end`: its spans
   * are these ones, moved, instead of scanned for again.
   * @param bytes the whole new text
   * @param by how much longer the new value is, in bytes
   */
  replaced(bytes: Buffer, end: number, by: number): Frame {
    const to = new Frame(bytes);
    to.kind = this.kind;
    to.fault = this.fault;
    to.method = this.method;
    to.idStart = moved(this.idStart, end, by);
    to.idEnd = moved(this.idEnd, end, by);
    to.paramsStart = moved(this.paramsStart, end, by);
    to.paramsEnd = moved(this.paramsEnd, end, by);
    to.resultStart = moved(this.resultStart, end, by);
    to.resultEnd = moved(this.resultEnd, end, by);
    to.errorStart = moved(this.errorStart, end, by);
    to.errorEnd = moved(this.errorEnd, end, by);
    to.nameStart = moved(this.nameStart, end, by);
    to.nameEnd = moved(this.nameEnd, end, by);
    to.uriStart = moved(this.uriStart, end, by);
    to.uriEnd = moved(this.uriEnd, end, by);
    to.requestIdStart = moved(this.requestIdStart, end, by);
    to.requestIdEnd = moved(this.requestIdEnd, end, by);
    to.metaStart = moved(this.metaStart, end, by);
    to.metaEnd = moved(this.metaEnd, end, by);
    to.tokenStart = moved(this.tokenStart, end, by);
    to.tokenEnd = moved(this.tokenEnd, end, by);
    to.progressStart = moved(this.progressStart, end, by);
    to.progressEnd = moved(this.progressEnd, end, by);
    to.levelStart = moved(this.levelStart, end, by);
    to.levelEnd = moved(this.levelEnd, end, by);
    to.paramIdStart = moved(this.paramIdStart, end, by);
    to.paramIdEnd = moved(this.paramIdEnd, end, by);
    to.responsesStart = moved(this.responsesStart, end, by);
    to.responsesEnd = moved(this.responsesEnd, end, by);
    to.stateStart = moved(this.stateStart, end, by);
    to.stateEnd = moved(this.stateEnd, end, by);
    to.resultMetaStart = moved(this.resultMetaStart, end, by);
    to.resultMetaEnd = moved(this.resultMetaEnd, end, by);
    to.contentStart = moved(this.contentStart, end, by);
    to.contentEnd = moved(this.contentEnd, end, by);
    to.resultTypeStart = moved(this.resultTypeStart, end, by);
    to.resultTypeEnd = moved(this.resultTypeEnd, end, by);
    to.claimStart = moved(this.claimStart, end, by);
    to.claimEnd = moved(this.claimEnd, end, by);
    return to;
  }
}

/** Stands for a message that nobody needs any more, so that its bytes are not kept. */
export const GONE = new Frame(Buffer.alloc(0));

/** Where an offset is when what ends at `end` got longer by `by`. */
function moved(offset: number, end: number, by: number): number {
  return offset < end ? offset : offset + by;
}
