// What a subscription covers; and the id that a modern server puts on what it sends on a listen
// stream (2026-07-28 basic/patterns/subscriptions): read it, and take it off for clients of the
// session era.
import type { Frame } from '../jsonrpc/frame.ts';
import { integerId } from '../jsonrpc/id.ts';
import { editObject, isEmptyObject, lastMember } from '../jsonrpc/members.ts';
import { scan } from '../jsonrpc/scan.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
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
  const params = editObject(bytes, paramsStart, paramsEnd, {
    remove: (key) => isEmpty && key === '_meta',
    ...(isEmpty ? {} : { set: new Map([['_meta', meta]]) }),
  });
  return scan(replaceSpan(bytes, paramsStart, paramsEnd, params));
}

/** The kind of messages about a task; none about anything else has it. */
export function taskKind(taskId: string): string {
  return `task ${taskId}`;
}

/** Whether `uri` is what was subscribed to, or a part of it (2025-11-25 server/resources). */
export function isPartOf(uri: string, subscribed: string): boolean {
  if (!uri.startsWith(subscribed)) return false;
  const next = uri[subscribed.length];
  return next === undefined || subscribed.endsWith('/') || '/?#'.includes(next);
}
