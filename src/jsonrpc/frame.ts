// A message as it passes through Sluice: its bytes as received, and the spans of the few members that Sluice
// reads (docs/architecture.md#bytes-not-objects). Made by scan.ts, or by `replaced` from another frame. It
// never changes afterwards.

export type FrameKind = 'request' | 'notification' | 'response' | 'invalid';

/** Why a message is not valid. */
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
  /** `method` has characters that are not allowed */
  | 'characters'
  /** `params` is not an object */
  | 'params'
  /** too many members */
  | 'members'
  /** a member that the gateway uses is duplicated, or in another spelling */
  | 'duplicate'
  /** longer than a limit of base/text-limits.ts */
  | 'long-method'
  | 'long-id'
  | 'long-token'
  | 'long-name'
  | 'long-uri'
  /** not a request, notification or response */
  | 'shape';

/** The ends of large values in a text, by their start. */
export interface ValueEnds {
  get(start: number): number | undefined;
}

/**
 * A message. Offsets are positions in `bytes`, ends are exclusive, and -1 means that the member is absent.
 */
export class Frame {
  readonly bytes: Buffer;
  kind: FrameKind = 'invalid';
  fault: Fault | undefined = undefined;
  /** Decoded; empty in a response. */
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
  /** `params.id`: in `$/cancelRequest` of language servers, the request to cancel */
  paramIdStart = -1;
  paramIdEnd = -1;
  /**
   * `params.inputResponses` and `params.requestState` of a request that is sent again with answers
   * (2026-07-28 basic/patterns/mrtr).
   */
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
  /** `params._meta["io.modelcontextprotocol/protocolVersion"]`: says that the message is modern */
  claimStart = -1;
  claimEnd = -1;

  /** The ends of large values in a large message, by their start (text-walk.ts). */
  ends: ValueEnds | undefined = undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Whether the message has an id that can be echoed, even if it is otherwise invalid. */
  get hasId(): boolean {
    return this.idStart >= 0;
  }

  /** The bytes of a member, or undefined if it is absent. */
  slice(start: number, end: number): Buffer | undefined {
    return start < 0 ? undefined : this.bytes.subarray(start, end);
  }

  /** The id as sent, or undefined. */
  get idBytes(): Buffer | undefined {
    return this.slice(this.idStart, this.idEnd);
  }

  /**
   * The same message with one string or number replaced: the value that ends at `end`. Spans are moved
   * instead of scanned again.
   * @param bytes the new text
   * @param by how many bytes longer the new value is
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

/** Replaces a message that is no longer needed, so that its bytes can be freed. */
export const GONE = new Frame(Buffer.alloc(0));

/** An offset after the value that ends at `end` has become longer by `by`. */
function moved(offset: number, end: number, by: number): number {
  return offset < end ? offset : offset + by;
}
