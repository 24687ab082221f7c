// Results in the form of the other era. A modern result has its type, the server's name, and how long it may
// be cached; a legacy one has none of that (docs/protocol.md#results-across-eras). The text is spliced, not
// rebuilt.

import type { Frame } from '../jsonrpc/frame.ts';
import { editObject, isEmptyObject, membersOf, withEdited } from '../jsonrpc/members.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { joinText } from '../jsonrpc/text-walk.ts';
import { META } from '../mcp/meta.ts';

const COMPLETE = Buffer.from('"resultType":"complete"');
const TASK_TYPE = Buffer.from('"resultType":"task"');
const TASK = Buffer.from('"task"');
const NOT_CACHED = Buffer.from(',"ttlMs":0,"cacheScope":"private"');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from('}');
const RELATED_TASK = Buffer.from(META.relatedTask);

/** Adds the members of modern results. */
export class ModernResultEncoder {
  /** `"io.modelcontextprotocol/serverInfo":{...}` */
  readonly #serverInfo: Buffer;
  readonly #wholeMeta: Buffer;

  /** @param serverInfo what the server said about itself */
  constructor(serverInfo: unknown) {
    this.#serverInfo = Buffer.from(`${jsonText(META.serverInfo)}:${jsonText(serverInfo)}`);
    this.#wholeMeta = Buffer.concat([Buffer.from(',"_meta":{'), this.#serverInfo, CLOSE]);
  }

  /**
   * The result of a legacy server for a modern client.
   * @param isCacheable whether results of the method say how long they may be cached
   * @returns JSON text of the result
   */
  modern(answer: Frame, isCacheable: boolean): Buffer {
    const { bytes, resultTypeStart, resultTypeEnd } = answer;
    if (resultTypeStart < 0) return this.#encoded(answer, COMPLETE, isCacheable);
    // The translation sets this type for tasks. If a legacy server sends it, it has no meaning.
    const isTask = bytes.subarray(resultTypeStart, resultTypeEnd).equals(TASK);
    return this.#encoded(withoutType(answer), isTask ? TASK_TYPE : COMPLETE, isCacheable);
  }

  #encoded(answer: Frame, type: Buffer, isCacheable: boolean): Buffer {
    const { bytes, resultStart, resultEnd, resultMetaStart, resultMetaEnd } = answer;
    const head: Buffer[] = [Buffer.from('{'), type];
    if (isCacheable) head.push(NOT_CACHED);
    const isEmpty = isEmptyObject(bytes, resultStart, resultEnd);
    if (resultMetaStart < 0) {
      head.push(this.#wholeMeta);
      if (!isEmpty) head.push(COMMA);
      return joinText([...head, bytes.subarray(resultStart + 1, resultEnd)], bytes, true);
    }
    const parts = [
      ...head,
      COMMA,
      bytes.subarray(resultStart + 1, resultMetaStart),
      this.#meta(bytes, resultMetaStart, resultMetaEnd),
      bytes.subarray(resultMetaEnd, resultEnd),
    ];
    return joinText(parts, bytes, true);
  }

  /** A result that needs only the server's name, as JSON text. */
  addServerInfo(result: Buffer): Buffer {
    return Buffer.concat([result.subarray(0, -1), this.#wholeMeta, CLOSE]);
  }

  #meta(bytes: Buffer, start: number, end: number): Buffer {
    let meta: Buffer = bytes.subarray(start, end);
    if (meta.includes(RELATED_TASK)) {
      meta = editObject(bytes, start, end, { remove: (key) => key === META.relatedTask });
    }
    const isEmpty = isEmptyObject(meta, 0, meta.length);
    const rest = isEmpty ? CLOSE : Buffer.concat([COMMA, meta.subarray(1)]);
    return Buffer.concat([Buffer.from('{'), this.#serverInfo, rest]);
  }
}

function withoutType(answer: Frame): Frame {
  const { resultStart, resultEnd } = answer;
  return withEdited(answer, resultStart, resultEnd, { remove: (key) => key === 'resultType' });
}

const MODERN_MEMBERS: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/** The result of a modern server for a legacy client. */
export function legacyResult(answer: Frame): Buffer {
  const { bytes, resultStart, resultEnd, resultMetaStart, resultMetaEnd } = answer;
  const set = new Map<string, Buffer>();
  const remove = new Set(MODERN_MEMBERS);
  if (resultMetaStart >= 0) {
    const meta = editObject(bytes, resultMetaStart, resultMetaEnd, { remove: isServerKey });
    if (membersOf(meta, 0, meta.length).length === 0) remove.add('_meta');
    else set.set('_meta', meta);
  }
  return editObject(bytes, resultStart, resultEnd, { remove: (key) => remove.has(key), set });
}

function isServerKey(key: string): boolean {
  return key === META.serverInfo || key === META.subscriptionId;
}
