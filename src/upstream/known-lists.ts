// The lists of an instance that clients have seen, so that after a restart they are told exactly which ones
// have changed. A list that no client has seen can't have changed for a client. Also the keys of the current
// lists.
import { type FindOwner, HeldAmount } from '../base/held-bytes.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { type JsonObject, parsedCost } from '../jsonrpc/parse.ts';
import { callMessage, jsonBytes } from '../jsonrpc/serialize.ts';
import { LIST_CHANGED, RESOURCE_UPDATED } from '../mcp/methods.ts';
import type { ListKind } from '../ports/lease.ts';

const CHANGED_BY_LIST: ReadonlyMap<string, string> = new Map([
  ['tools/list', 'notifications/tools/list_changed'],
  ['prompts/list', 'notifications/prompts/list_changed'],
  ['resources/list', 'notifications/resources/list_changed'],
]);
/** After these notifications a resource may have other contents. */
const OF_CONTENTS: ReadonlySet<string> = new Set([
  RESOURCE_UPDATED,
  'notifications/resources/list_changed',
]);
/** Larger lists are only remembered as seen, and count as changed. */
const MAX_REMEMBERED = 1024 * 1024;
const CURSOR = Buffer.from('"cursor"');
const NEXT_CURSOR = Buffer.from('"nextCursor"');

export interface ChangedList {
  readonly method: string;
  readonly message: Buffer;
}

/** First pages as clients last saw them. They count as held for the server. */
export class KnownLists {
  readonly #seen = new Map<string, Buffer | undefined>();
  readonly #keys = new Map<ListKind, object>();
  readonly #owner: FindOwner;
  readonly #held: HeldAmount;
  /** The bytes of what the server said about itself. */
  #handshakeResultBytes = 0;
  #isClosed = false;

  constructor(owner: FindOwner) {
    this.#owner = owner;
    this.#held = new HeldAmount(owner, 'list', () => this.#forget());
  }

  /**
   * An object for each list; a new one whenever the list may have changed. What is derived from a list is
   * stored under it.
   */
  keyOf(kind: ListKind): object {
    let key = this.#keys.get(kind);
    if (key === undefined) {
      key = {};
      this.#keys.set(kind, key);
    }
    return key;
  }

  /** Handles a notification: a list may have changed. */
  noticed(method: string): void {
    // notifications/KIND/list_changed
    if (LIST_CHANGED.has(method)) this.#keys.delete(method.split('/')[1] as ListKind);
    if (OF_CONTENTS.has(method)) this.#keys.delete('contents');
  }

  /** The server was started again, and its handshake is done. */
  introduced(handshakeResult: JsonObject | undefined): void {
    this.#keys.clear();
    if (this.#isClosed) return;
    const text = jsonBytes(handshakeResult ?? null);
    this.#countHandshakeResult(parsedCost(text, 0, text.length));
  }

  /** The instance is closed. */
  close(): void {
    this.#isClosed = true;
    this.#forget();
    this.#held.release();
    this.#countHandshakeResult(0);
  }

  /** Remembers an answer, if it is the first page of a list. */
  note(request: Frame, answer: Frame): void {
    if (!CHANGED_BY_LIST.has(request.method)) return;
    const params = request.slice(request.paramsStart, request.paramsEnd);
    if (!params?.includes(CURSOR)) this.remember(request.method, answer);
  }

  /** Remembers the first page of a list. */
  remember(method: string, answer: Frame): void {
    if (!CHANGED_BY_LIST.has(method) || this.#isClosed) return;
    const list = answer.bytes.subarray(answer.resultStart, answer.resultEnd);
    if (this.#seen.get(method)?.equals(list)) return;
    const isWhole = list.length <= MAX_REMEMBERED && !list.includes(NEXT_CURSOR);
    this.#seen.set(method, isWhole ? Buffer.from(list) : undefined);
    this.#count();
  }

  #count(): void {
    let bytes = 0;
    for (const seen of this.#seen.values()) bytes += seen?.length ?? 0;
    this.#held.set(bytes);
  }

  /** Goes on with what clients saw of another instance, in whose place this one is. */
  adopt(before: KnownLists): void {
    if (this.#isClosed) return;
    for (const [method, list] of before.#seen) {
      const known = this.#seen.get(method);
      const isSame =
        !this.#seen.has(method) || (list !== undefined && known?.equals(list) === true);
      // Where clients saw different ones, it is another one for somebody.
      this.#seen.set(method, isSame ? list : undefined);
    }
    this.#count();
  }

  #countHandshakeResult(bytes: number): void {
    this.#owner().add('list', bytes - this.#handshakeResultBytes);
    this.#handshakeResultBytes = bytes;
  }

  /** From now on all seen lists count as changed. */
  #forget(): void {
    for (const method of this.#seen.keys()) this.#seen.set(method, undefined);
  }

  /**
   * Requests the lists again.
   * @param ask requests one list
   * @returns the notification for each list that has changed, or may have
   */
  async changed(ask: (method: string) => Promise<Frame | undefined>): Promise<ChangedList[]> {
    const checks = [...this.#seen].map(async ([method, before]) => {
      const answer = await ask(method);
      const now = answer?.slice(answer.resultStart, answer.resultEnd);
      const isSame = before !== undefined && now !== undefined && before.equals(now);
      return isSame ? undefined : CHANGED_BY_LIST.get(method);
    });
    const notifications = await Promise.all(checks);
    return notifications
      .filter((method) => method !== undefined)
      .map((method) => ({ method, message: callMessage(method) }));
  }
}
