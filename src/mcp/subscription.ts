// What a subscription covers; and the id that a modern server puts on what it sends on a listen
// stream (2026-07-28 basic/patterns/subscriptions): read it, and take it off for clients of the
// session era.
import { Counts } from '../base/counts.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import { editObject, isEmptyObject, lastMember, withEdited } from '../jsonrpc/members.ts';
import { META } from './meta.ts';

/** The listen request that a notification belongs to, by the id that it was sent with. */
export function subscriptionOf(notification: Frame): number | undefined {
  const { bytes, metaStart, metaEnd } = notification;
  if (metaStart < 0) return undefined;
  const member = lastMember(bytes, metaStart, metaEnd, META.subscriptionId);
  return member === undefined ? undefined : integerId(bytes, member.valueStart, member.valueEnd);
}

/** The notification as a client of the session era gets it. */
export function withoutSubscription(notification: Frame): Frame {
  const { bytes, paramsStart, paramsEnd, metaStart, metaEnd } = notification;
  if (metaStart < 0) return notification;
  const meta = editObject(bytes, metaStart, metaEnd, {
    remove: (key) => key === META.subscriptionId,
  });
  const isEmpty = isEmptyObject(meta, 0, meta.length);
  return withEdited(notification, paramsStart, paramsEnd, {
    remove: (key) => isEmpty && key === '_meta',
    ...(isEmpty ? {} : { set: new Map([['_meta', meta]]) }),
  });
}

/** The kind of messages about a task; none about anything else has it. */
export function taskKind(taskId: string): string {
  return `task ${taskId}`;
}

/** What a resource may end with before the name of a part of it. */
const ENDS = new Set(['/', '?', '#']);

/**
 * Something for each resource that is watched. Finds what an update is about without a look at all of
 * them: by the beginnings of its URI that are as long as something that is watched.
 */
export class WatchedUris<T> {
  readonly #byUri = new Map<string, T>();
  /** How many URIs there are of each length. */
  readonly #lengths = new Counts<number>();

  get size(): number {
    return this.#byUri.size;
  }

  get(uri: string): T | undefined {
    return this.#byUri.get(uri);
  }

  keys(): Iterable<string> {
    return this.#byUri.keys();
  }

  set(uri: string, value: T): void {
    if (!this.#byUri.has(uri)) this.#lengths.add(uri.length);
    this.#byUri.set(uri, value);
  }

  delete(uri: string): void {
    if (this.#byUri.delete(uri)) this.#lengths.remove(uri.length);
  }

  clear(): void {
    this.#byUri.clear();
    this.#lengths.clear();
  }

  /** What is watched that `uri` is, or that it is a part of (2025-11-25 server/resources). */
  covering(uri: string): T[] {
    const found: T[] = [];
    for (const length of this.#lengths.keys()) {
      if (!isEndOfName(uri, length)) continue;
      const value = this.#byUri.get(uri.slice(0, length));
      if (value !== undefined) found.push(value);
    }
    return found;
  }
}

function isEndOfName(uri: string, length: number): boolean {
  if (length >= uri.length) return length === uri.length;
  return ENDS.has(uri.charAt(length)) || uri.charAt(length - 1) === '/';
}
