// Results of modern servers that may be given again: as long as the server says, to whom it says, and
// not beyond a change that it tells (2026-07-28 server/utilities/caching, docs/protocol.md#caching).
import { monotonicMs } from '../base/clock.ts';
import { type Member, membersOf } from '../jsonrpc/members.ts';
import { parseSpan } from '../jsonrpc/parse.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import {
  PROMPTS_LIST,
  RESOURCES_LIST,
  RESOURCES_READ,
  TEMPLATES_LIST,
  TOOLS_LIST,
} from '../mcp/methods.ts';
import type { Lease, ListKind } from '../ports/lease.ts';
import type { Request } from '../ports/request.ts';

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_RESULT_BYTES = 1024 * 1024;
const MAX_TTL_MS = 3_600_000;
/** Of the params of a request whose result is kept: a URI or a cursor, and the envelope. */
const MAX_SUBJECT_BYTES = 64 * 1024;
/** What an entry costs besides its text. */
const ENTRY_BYTES = 512;

/** Whose change ends what is kept of a method. */
const KINDS: ReadonlyMap<string, ListKind> = new Map<string, ListKind>([
  [TOOLS_LIST, 'tools'],
  [PROMPTS_LIST, 'prompts'],
  [RESOURCES_LIST, 'resources'],
  [TEMPLATES_LIST, 'resources'],
  [RESOURCES_READ, 'contents'],
]);

interface CachedResult {
  readonly result: Buffer;
  readonly untilMs: number;
  readonly ttlStart: number;
  readonly ttlEnd: number;
}

/** The results that are kept, for all endpoints. */
export class ResponseCache {
  /** In the order of use. */
  readonly #kept = new Map<string, CachedResult>();
  readonly #ids = new WeakMap<object, number>();
  #lastId = 0;
  #bytes = 0;

  /**
   * A result that can be given to a client once more.
   * @returns JSON text with the time that is left, or undefined
   */
  find(lease: Lease, request: Request): Buffer | undefined {
    // Logs that a client wants come with a call only.
    const subject = subjectOf(request);
    if (subject === undefined || request.client.logThreshold !== Number.POSITIVE_INFINITY)
      return undefined;
    const at = this.#idOf(lease.listKey(subject.kind));
    return (
      this.#take(`${at} public ${subject.text}`) ??
      this.#take(`${at} ${request.client.principal.key} ${subject.text}`)
    );
  }

  /** Keeps a result, if its server says that it may be kept. */
  keep(lease: Lease, request: Request, result: Buffer): void {
    const subject = subjectOf(request);
    if (subject === undefined || result.length > MAX_RESULT_BYTES) return;
    const members = membersOf(result, 0, result.length);
    const ttl = members.findLast(({ key }) => key === 'ttlMs');
    const ttlMs = ttl && readMember(result, ttl);
    const type = textOf(result, members, 'resultType');
    if (typeof ttlMs !== 'number' || ttlMs <= 0 || ttl === undefined) return;
    if (type !== undefined && type !== 'complete') return;
    const isPublic = textOf(result, members, 'cacheScope') === 'public';
    const owner = isPublic ? 'public' : request.client.principal.key;
    this.#add(`${this.#idOf(lease.listKey(subject.kind))} ${owner} ${subject.text}`, {
      result,
      untilMs: monotonicMs() + Math.min(ttlMs, MAX_TTL_MS),
      ttlStart: ttl.valueStart,
      ttlEnd: ttl.valueEnd,
    });
  }

  #take(key: string): Buffer | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    const leftMs = Math.floor(kept.untilMs - monotonicMs());
    if (leftMs <= 0) {
      this.#drop(key, kept);
      return undefined;
    }
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const text = Buffer.from(String(leftMs));
    return replaceSpan(kept.result, kept.ttlStart, kept.ttlEnd, text);
  }

  #add(key: string, kept: CachedResult): void {
    const before = this.#kept.get(key);
    if (before !== undefined) this.#drop(key, before);
    this.#kept.set(key, kept);
    this.#bytes += kept.result.length + ENTRY_BYTES;
    for (const [oldest, entry] of this.#kept) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#drop(oldest, entry);
    }
  }

  #drop(key: string, { result }: CachedResult): void {
    this.#kept.delete(key);
    this.#bytes -= result.length + ENTRY_BYTES;
  }

  #idOf(key: object): number {
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = ++this.#lastId;
      this.#ids.set(key, id);
    }
    return id;
  }
}

/** What a request asks for; undefined when its result must not be kept. */
function subjectOf({ frame }: Request): { kind: ListKind; text: string } | undefined {
  const kind = KINDS.get(frame.method);
  if (kind === undefined || frame.stateStart >= 0 || frame.responsesStart >= 0) return undefined;
  const { bytes, paramsStart, paramsEnd } = frame;
  // What is asked for is kept with the result, and compared with all that is asked.
  if (paramsEnd - paramsStart > MAX_SUBJECT_BYTES) return undefined;
  const params = paramsStart < 0 ? [] : membersOf(bytes, paramsStart, paramsEnd);
  const texts = params
    .filter(({ key }) => key !== '_meta')
    .map(({ keyStart, valueEnd }) => bytes.toString('utf8', keyStart, valueEnd))
    .sort();
  return { kind, text: `${frame.method} ${texts.join(',')}` };
}

function textOf(bytes: Buffer, members: readonly Member[], key: string): unknown {
  const member = members.findLast((one) => one.key === key);
  return member && readMember(bytes, member);
}

function readMember(bytes: Buffer, { valueStart, valueEnd }: Member): unknown {
  return parseSpan(bytes, valueStart, valueEnd);
}
