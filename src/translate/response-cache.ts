// Cached results of modern servers: for as long as the server says, for the clients that it allows, and not
// after a change that it announces (2026-07-28 server/utilities/caching, docs/protocol.md#caching).
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
/** Limit for the params of a request whose result is cached: a URI or a cursor, and the envelope. */
const MAX_SUBJECT_BYTES = 64 * 1024;
/** The cost of an entry in addition to its text. */
const ENTRY_BYTES = 512;

/** The change that invalidates the results of a method. */
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

/** The cached results for all endpoints. */
export class ResponseCache {
  /** Least recently used first. */
  readonly #kept = new Map<string, CachedResult>();
  readonly #ids = new WeakMap<object, number>();
  #lastId = 0;
  #bytes = 0;

  /**
   * A cached result for a client.
   * @returns JSON text with the remaining time, or undefined
   */
  find(lease: Lease, request: Request): Buffer | undefined {
    // A client that wants log messages gets them only with a real call.
    const subject = subjectOf(request);
    if (subject === undefined || request.client.logThreshold !== Number.POSITIVE_INFINITY)
      return undefined;
    const at = this.#idOf(lease.listKey(subject.kind));
    return (
      this.#take(`${at} public ${subject.text}`) ??
      this.#take(`${at} ${request.client.principal.key} ${subject.text}`)
    );
  }

  /** Caches a result, if its server allows that. */
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

/** What a request asks for; undefined if its result must not be cached. */
function subjectOf({ frame }: Request): { kind: ListKind; text: string } | undefined {
  const kind = KINDS.get(frame.method);
  if (kind === undefined || frame.stateStart >= 0 || frame.responsesStart >= 0) return undefined;
  const { bytes, paramsStart, paramsEnd } = frame;
  // It is stored with the result, and compared with later requests.
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
