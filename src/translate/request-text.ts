// Requests in the form of the other era: the envelope is removed for a legacy server, and added for a modern
// one (docs/protocol.md#requests-across-eras).

import type { Frame } from '../jsonrpc/frame.ts';
import { EMPTY_OBJECT } from '../jsonrpc/json-text.ts';
import { editObject, isEmptyObject, withEdited } from '../jsonrpc/members.ts';
import { scan } from '../jsonrpc/scan.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { isEnvelopeKey, META } from '../mcp/meta.ts';
import { PROGRESS } from '../mcp/methods.ts';

const MODERN_PARAMS: ReadonlySet<string> = new Set(['inputResponses', 'requestState', 'task']);

/** A modern client's request for a legacy server. */
export function legacyRequest(request: Frame): Frame {
  const { bytes, paramsStart, paramsEnd, metaStart, metaEnd } = request;
  if (paramsStart < 0) return request;
  // Without modern keys. A task id is removed too: at the server it could be another client's task.
  const meta = editObject(bytes, metaStart, metaEnd, {
    remove: (key) => isEnvelopeKey(key) || key === META.relatedTask,
  });
  const hasMeta = !isEmptyObject(meta, 0, meta.length);
  return withEdited(request, paramsStart, paramsEnd, {
    remove: (key) => MODERN_PARAMS.has(key) || (key === '_meta' && !hasMeta),
    ...(hasMeta ? { set: new Map([['_meta', meta]]) } : {}),
  });
}

/** A message for the caller of a request: progress gets the progress token of this request. */
export function withTokenOf(request: Frame, message: Buffer): Buffer {
  const { method, tokenStart, tokenEnd } = scan(message);
  if (method !== PROGRESS || tokenStart < 0) return message;
  const token = request.slice(request.tokenStart, request.tokenEnd);
  return token === undefined ? message : replaceSpan(message, tokenStart, tokenEnd, token);
}

/**
 * A request with some members of `params` and `params._meta` set.
 * @param meta members of `_meta`, as JSON text
 * @param params other members of `params`, as JSON text
 * @param remove members of `params` to remove
 */
export function withParams(
  request: Frame,
  meta: ReadonlyMap<string, Buffer>,
  params: ReadonlyMap<string, Buffer> = new Map(),
  remove: (key: string) => boolean = () => false,
): Frame {
  const { bytes, paramsStart, paramsEnd, metaStart, metaEnd } = request;
  const isAbsent = metaStart < 0;
  const newMeta = isAbsent
    ? editObject(EMPTY_OBJECT, 0, EMPTY_OBJECT.length, { set: meta })
    : editObject(bytes, metaStart, metaEnd, { set: meta });
  const set = new Map([...params, ['_meta', newMeta] as const]);
  if (paramsStart >= 0) return withEdited(request, paramsStart, paramsEnd, { set, remove });
  const text = editObject(EMPTY_OBJECT, 0, EMPTY_OBJECT.length, { set });
  const open = bytes.indexOf('{');
  return scan(editObject(bytes, open, bytes.length, { set: new Map([['params', text]]) }));
}
