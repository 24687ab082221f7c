// Matches updates with watched resources. Reads and removes the id that a modern server puts on the messages
// of a listen stream (2026-07-28 basic/patterns/subscriptions).
import { Counts } from '../base/counts.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import { editObject, isEmptyObject, lastMember, withEdited } from '../jsonrpc/members.ts';
import { META } from './meta.ts';

/** The id of the listen request that a notification belongs to. */
export function subscriptionOf(notification: Frame): number | undefined {
  const { bytes, metaStart, metaEnd } = notification;
  if (metaStart < 0) return undefined;
  const member = lastMember(bytes, metaStart, metaEnd, META.subscriptionId);
  return member === undefined ? undefined : integerId(bytes, member.valueStart, member.valueEnd);
}

/** The notification for a legacy client. */
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

/** A key for messages about one task; no other messages have it. */
export function taskKind(taskId: string): string {
  return `task ${taskId}`;
}

/** Characters that may come between a resource's URI and the name of a part of it. */
const ENDS = new Set(['/', '?', '#']);

/**
 * A value for each watched resource. Finds the resources that an update is about without looking at all of
 * them: for each length that a watched URI has, it looks up the beginning of the updated URI.
 */
export class WatchedUris<T> {
  readonly #byUri = new Map<string, T>();
  /** The number of URIs of each length. */
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

  /**
   * The values for the watched resources that are `uri`, or that contain it (2025-11-25 server/resources).
   */
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
