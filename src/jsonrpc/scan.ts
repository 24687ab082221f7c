// Makes a frame of bytes in one pass: checks that the whole text is well-formed JSON and a JSON-RPC 2.0
// message, and notes the positions of the members that Sluice reads. Builds no objects
// (docs/architecture.md#bytes-not-objects).
import { isUtf8 } from 'node:buffer';
import { MAX_MEMBERS, TEXT_LIMITS } from '../base/text-limits.ts';
import { type Fault, Frame } from './frame.ts';
import { isId } from './id.ts';
import {
  CLOSE_BRACE,
  COMMA,
  decodeString,
  MALFORMED,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  TOO_DEEP,
} from './json-text.ts';
import { indexOfKey, isKey, matches } from './keys.ts';
import { hasMethodCharacters, lengthFault } from './lengths.ts';
import {
  META_KEYS,
  META_MEMBERS,
  PARAM_KEYS,
  PARAM_MEMBERS,
  TOP_MEMBERS,
} from './noted-members.ts';
import { skipMember, skipRest, walkedText } from './text-walk.ts';

const JSONRPC = Buffer.from('jsonrpc');
const ID = Buffer.from('id');
const METHOD = Buffer.from('method');
const PARAMS = Buffer.from('params');
const RESULT = Buffer.from('result');
const ERROR = Buffer.from('error');
const META = Buffer.from('_meta');
const PROGRESS_TOKEN = Buffer.from('progressToken');
const RESULT_TYPE = Buffer.from('resultType');
const CONTENT = Buffer.from('content');
const TWO_POINT_ZERO = Buffer.from('"2.0"');

export interface ScanOptions {
  /** Plain JSON-RPC allows an array as `params` and any value as `result`; MCP does not. */
  readonly anyParams: boolean;
}

const MCP_RULES: ScanOptions = { anyParams: false };

/**
 * Scans one message.
 * @param bytes the whole message; the frame keeps a reference
 * @returns a frame. If the message is invalid, `fault` says why. If an id could be read, `idBytes` is set
 *   nevertheless, so that the error can echo it (docs/protocol.md#error-ids)
 */
export function scan(bytes: Buffer, options: ScanOptions = MCP_RULES): Frame {
  const frame = new Frame(bytes);
  const end = bytes.length;
  const walked = walkedText(bytes);
  if (walked?.fault !== undefined) return malformed(frame, walked.fault);
  frame.ends = walked?.ends;
  const at = skipSpace(bytes, 0, end);
  if (bytes[at] !== OPEN_BRACE) return nonObject(frame, at);
  const after = scanTop(frame, at, options);
  if (after < 0 || skipSpace(bytes, after, end) !== end || !isUtf8(bytes)) {
    return malformed(frame, after);
  }
  classify(frame, options);
  return frame;
}

function nonObject(frame: Frame, at: number): Frame {
  const { bytes } = frame;
  const after = skipMember(frame, at, 0);
  if (after < 0) return malformed(frame, after);
  if (skipSpace(bytes, after, bytes.length) !== bytes.length || !isUtf8(bytes)) {
    return invalid(frame, 'json');
  }
  return invalid(frame, bytes[at] === OPEN_BRACKET ? 'array' : 'not-object');
}

function malformed(frame: Frame, why: number): Frame {
  return invalid(frame, why === TOO_DEEP ? 'depth' : 'json');
}

function invalid(frame: Frame, fault: Fault): Frame {
  frame.kind = 'invalid';
  frame.fault = fault;
  if (fault === 'json' || fault === 'depth') frame.idStart = -1;
  return frame;
}

/** Scans the members of the message itself. */
function scanTop(frame: Frame, open: number, options: ScanOptions): number {
  const { bytes } = frame;
  const end = bytes.length;
  let members = 0;
  let at = skipSpace(bytes, open + 1, end);
  if (bytes[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (bytes[at] !== QUOTE) return MALFORMED;
    const keyEnd = skipString(bytes, at, end);
    if (keyEnd < 0) return keyEnd;
    const value = skipColon(bytes, keyEnd, end);
    if (value < 0) return value;
    const after =
      ++members > MAX_MEMBERS
        ? skipExcess(frame, open, value, 1)
        : scanTopMember(frame, at, keyEnd, value, options);
    if (after < 0) return after;
    at = skipSpace(bytes, after, end);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    if (bytes[at] !== COMMA) return MALFORMED;
    at = skipSpace(bytes, at + 1, end);
  }
}

function scanTopMember(
  frame: Frame,
  key: number,
  keyEnd: number,
  value: number,
  options: ScanOptions,
): number {
  const { bytes } = frame;
  if (isKey(bytes, key, keyEnd, PARAMS)) {
    if (frame.paramsStart >= 0) frame.fault = 'duplicate';
    const isObject = bytes[value] === OPEN_BRACE;
    const after = isObject ? scanParams(frame, value, options) : skipMember(frame, value, 1);
    frame.paramsStart = value;
    frame.paramsEnd = after;
    return after;
  }
  const isResult = isKey(bytes, key, keyEnd, RESULT);
  const after =
    isResult && bytes[value] === OPEN_BRACE
      ? scanResult(frame, value)
      : skipMember(frame, value, 1);
  if (after < 0) return after;
  if (isKey(bytes, key, keyEnd, ID)) {
    if (frame.idStart >= 0) frame.fault = 'duplicate';
    frame.idStart = value;
    frame.idEnd = after;
  } else if (isKey(bytes, key, keyEnd, METHOD)) {
    noteMethod(frame, value, after);
  } else if (isKey(bytes, key, keyEnd, JSONRPC)) {
    if (frame.kind === 'request') frame.fault = 'duplicate';
    else if (!isTwoPointZero(bytes, value, after)) frame.fault ??= 'version';
    else frame.kind = 'request'; // notes that the member is there; classify() decides
  } else if (isResult) {
    if (frame.resultStart >= 0) frame.fault = 'duplicate';
    frame.resultStart = value;
    frame.resultEnd = after;
  } else if (isKey(bytes, key, keyEnd, ERROR)) {
    if (frame.errorStart >= 0) frame.fault = 'duplicate';
    frame.errorStart = value;
    frame.errorEnd = after;
  } else if (TOP_MEMBERS.has(bytes, key, keyEnd)) {
    frame.fault = 'duplicate';
  }
  return after;
}

/** Skips a member beyond the limit. Nothing is looked for in these. */
function skipExcess(frame: Frame, open: number, value: number, depth: number): number {
  frame.fault = 'members';
  return skipRest(frame, open, value, depth);
}

function noteMethod(frame: Frame, value: number, after: number): void {
  if (frame.method !== '') frame.fault = 'duplicate';
  if (after - value > TEXT_LIMITS.method) frame.fault ??= 'long-method';
  else if (frame.bytes[value] === QUOTE) frame.method = decodeString(frame.bytes, value, after);
  // Otherwise a second `method` could hide behind an empty one.
  if (frame.method === '') frame.fault ??= 'method';
}

/** Scans the members of `result`. */
function scanResult(frame: Frame, open: number): number {
  const { bytes, ends } = frame;
  const end = bytes.length;
  let members = 0;
  let at = skipSpace(bytes, open + 1, end);
  if (bytes[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (bytes[at] !== QUOTE) return MALFORMED;
    const keyEnd = skipString(bytes, at, end);
    if (keyEnd < 0) return keyEnd;
    const value = skipColon(bytes, keyEnd, end);
    if (value < 0) return value;
    // Results of MCP have few members, so the rest of very many members in a large message is skipped.
    const isRest = ++members > MAX_MEMBERS && ends !== undefined;
    const after = skipInner(frame, open, value, isRest);
    if (after < 0) return after;
    if (isRest) {
      // Not looked for beyond the limit.
    } else if (isKey(bytes, at, keyEnd, META)) {
      frame.resultMetaStart = value;
      frame.resultMetaEnd = after;
    } else if (isKey(bytes, at, keyEnd, RESULT_TYPE)) {
      frame.resultTypeStart = value;
      frame.resultTypeEnd = after;
    } else if (isKey(bytes, at, keyEnd, CONTENT)) {
      frame.contentStart = value;
      frame.contentEnd = after;
    }
    at = skipSpace(bytes, after, end);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    if (bytes[at] !== COMMA) return MALFORMED;
    at = skipSpace(bytes, at + 1, end);
  }
}

/** Scans the members of `params`. */
function scanParams(frame: Frame, open: number, options: ScanOptions): number {
  const { bytes } = frame;
  const end = bytes.length;
  let seen = 0;
  let members = 0;
  let at = skipSpace(bytes, open + 1, end);
  if (bytes[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (bytes[at] !== QUOTE) return MALFORMED;
    const keyEnd = skipString(bytes, at, end);
    if (keyEnd < 0) return keyEnd;
    const value = skipColon(bytes, keyEnd, end);
    if (value < 0) return value;
    // The members of plain JSON-RPC params are unknown, so any number is allowed.
    const isExcess = ++members > MAX_MEMBERS && (!options.anyParams || frame.ends !== undefined);
    const isMeta = !isExcess && bytes[value] === OPEN_BRACE && isKey(bytes, at, keyEnd, META);
    const after = isMeta ? scanMeta(frame, value) : skipInner(frame, open, value, isExcess);
    if (after < 0) return after;
    if (isExcess && !options.anyParams) frame.fault = 'members';
    const bit = isExcess ? 0 : noteParam(frame, at, keyEnd, value, after, options);
    if ((seen & bit) !== 0) frame.fault = 'duplicate';
    seen |= bit;
    at = skipSpace(bytes, after, end);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    if (bytes[at] !== COMMA) return MALFORMED;
    at = skipSpace(bytes, at + 1, end);
  }
}

/** Skips a member of params or result. */
function skipInner(frame: Frame, open: number, value: number, isExcess: boolean): number {
  return isExcess ? skipRest(frame, open, value, 2) : skipMember(frame, value, 2);
}

/** @returns a separate bit for each member that must not be duplicated, 0 for others */
function noteParam(
  frame: Frame,
  key: number,
  keyEnd: number,
  value: number,
  after: number,
  options: ScanOptions,
): number {
  const { bytes } = frame;
  const index = indexOfKey(bytes, key, keyEnd, PARAM_KEYS);
  switch (index) {
    case 0:
      frame.nameStart = value;
      frame.nameEnd = after;
      break;
    case 1:
      frame.metaStart = value;
      frame.metaEnd = after;
      break;
    case 2:
      frame.uriStart = value;
      frame.uriEnd = after;
      break;
    case 3:
      frame.requestIdStart = value;
      frame.requestIdEnd = after;
      break;
    case 4:
      noteToken(frame, value, after);
      break;
    case 5:
      frame.progressStart = value;
      frame.progressEnd = after;
      break;
    case 6:
      frame.levelStart = value;
      frame.levelEnd = after;
      break;
    case 7:
      frame.responsesStart = value;
      frame.responsesEnd = after;
      break;
    case 8:
      frame.stateStart = value;
      frame.stateEnd = after;
      break;
    case 9:
      frame.paramIdStart = value;
      frame.paramIdEnd = after;
      break;
    case -1:
      if (!options.anyParams && PARAM_MEMBERS.has(bytes, key, keyEnd)) {
        frame.fault = 'duplicate';
      }
      return 0;
    default:
  }
  return 1 << index;
}

/** Scans the members of `params._meta`. */
function scanMeta(frame: Frame, open: number): number {
  const { bytes } = frame;
  const end = bytes.length;
  let noted = 0;
  let members = 0;
  let at = skipSpace(bytes, open + 1, end);
  if (bytes[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (bytes[at] !== QUOTE) return MALFORMED;
    const keyEnd = skipString(bytes, at, end);
    if (keyEnd < 0) return keyEnd;
    const value = skipColon(bytes, keyEnd, end);
    if (value < 0) return value;
    const isExcess = ++members > MAX_MEMBERS;
    const after = isExcess ? skipExcess(frame, open, value, 3) : skipMember(frame, value, 3);
    if (after < 0) return after;
    const bit = isExcess ? 0 : noteMeta(frame, at, keyEnd, value, after);
    if ((noted & bit) !== 0) frame.fault = 'duplicate';
    noted |= bit;
    at = skipSpace(bytes, after, end);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    if (bytes[at] !== COMMA) return MALFORMED;
    at = skipSpace(bytes, at + 1, end);
  }
}

/** @returns a separate bit for each member that must not be duplicated, 0 for others */
function noteMeta(frame: Frame, key: number, keyEnd: number, value: number, after: number): number {
  const { bytes } = frame;
  if (isKey(bytes, key, keyEnd, PROGRESS_TOKEN)) {
    noteToken(frame, value, after);
    return 0;
  }
  const index = indexOfKey(bytes, key, keyEnd, META_KEYS);
  if (index < 0) {
    if (META_MEMBERS.has(bytes, key, keyEnd)) frame.fault = 'duplicate';
    return 0;
  }
  if (index === 0) {
    frame.claimStart = value;
    frame.claimEnd = after;
  }
  return 1 << index;
}

function noteToken(frame: Frame, value: number, after: number): void {
  if (frame.tokenStart >= 0) frame.fault = 'duplicate';
  frame.tokenStart = value;
  frame.tokenEnd = after;
}

/** Decides the kind of the message, from its members. */
function classify(frame: Frame, options: ScanOptions): void {
  const hasVersion = frame.kind === 'request';
  frame.kind = 'invalid';
  const long = lengthFault(frame, options.anyParams);
  if (long !== undefined) frame.fault = long;
  // An error for a too long id must not echo it, and it must not be parsed as a number.
  if (long === 'long-id') frame.idStart = -1;
  const hasMethod = frame.method !== '';
  const hasAnswer = frame.resultStart >= 0 || frame.errorStart >= 0;
  if (frame.idStart >= 0 && !isId(frame.bytes, frame.idStart, frame.idEnd)) {
    // A server may answer a message that it could not read with `id: null` (docs/protocol.md#messages).
    const isAnswer = hasAnswer && !hasMethod;
    frame.idStart = -1;
    if (!isAnswer) frame.fault = 'id';
  }
  if (frame.fault !== undefined) return;
  if (!hasVersion) frame.fault = 'version';
  else if (hasMethod === hasAnswer) frame.fault = 'shape';
  else if (hasMethod) classifyCall(frame, options);
  else if (frame.resultStart >= 0 && frame.errorStart >= 0) frame.fault = 'shape';
  else frame.kind = 'response';
}

function classifyCall(frame: Frame, options: ScanOptions): void {
  const first = frame.paramsStart < 0 ? OPEN_BRACE : frame.bytes[frame.paramsStart];
  const isAllowed = first === OPEN_BRACE || (options.anyParams && first === OPEN_BRACKET);
  if (!isAllowed) frame.fault = 'params';
  else if (!hasMethodCharacters(frame.method, options.anyParams)) frame.fault = 'characters';
  else frame.kind = frame.hasId ? 'request' : 'notification';
}

function isTwoPointZero(bytes: Buffer, start: number, end: number): boolean {
  if (matches(bytes, start, end, TWO_POINT_ZERO)) return true;
  return bytes[start] === QUOTE && decodeString(bytes, start, end) === '2.0';
}
