// A legacy server's requests as entries of `inputRequests`, and a modern client's answers to them
// (docs/protocol.md#suspended-calls).

import type { GatewayError } from '../base/errors.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { EMPTY_OBJECT, OPEN_BRACE } from '../jsonrpc/json-text.ts';
import {
  editObject,
  isEmptyObject,
  lastMember,
  membersOf,
  memberText,
} from '../jsonrpc/members.ts';
import { isObject, textParam } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { FAILURES } from '../mcp/failures.ts';
import { META } from '../mcp/meta.ts';
import { ELICITATION, ROOTS_LIST, SAMPLING } from '../mcp/methods.ts';
import type { ServerRequest } from '../ports/downstream.ts';

/** The most server requests in one result. A user could not be shown more. */
const MAX_SERVER_REQUESTS = 100;
const FORM = Buffer.from('"form"');
// Members that only legacy requests have.
const DROPPED: ReadonlySet<string> = new Set(['elicitationId', 'task']);
const DROPPED_META: ReadonlySet<string> = new Set(['progressToken', META.relatedTask]);

/** The first letters of keys. The number after it makes a key unique within a call. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  [ELICITATION, 'e'],
  [SAMPLING, 's'],
  [ROOTS_LIST, 'r'],
]);

/** The letter for the key of a server request; undefined if a modern client can't be sent it. */
export function keyLetter(method: string): string | undefined {
  return LETTERS.get(method);
}

/**
 * The `input_required` result, as JSON text.
 * @param serverRequests by key; keys are letters and digits
 */
export function inputRequired(
  serverRequests: ReadonlyMap<string, ServerRequest>,
  state: string,
): Buffer {
  const parts: Buffer[] = [];
  for (const [key, { frame }] of serverRequests) {
    parts.push(Buffer.from(`${parts.length === 0 ? '' : ','}"${key}":`), ...partsOf(frame));
  }
  return Buffer.concat([
    Buffer.from('{"resultType":"input_required","inputRequests":{'),
    ...parts,
    Buffer.from(`},"requestState":${jsonText(state)}}`),
  ]);
}

/** A server request as an entry of `inputRequests`, as JSON text. */
export function inputRequest(serverRequest: Frame): Buffer {
  return Buffer.concat(partsOf(serverRequest));
}

function partsOf(serverRequest: Frame): Buffer[] {
  const method = Buffer.from(jsonText(serverRequest.method));
  const parts: Buffer[] = [Buffer.from('{"method":'), method];
  const params = convertedParams(serverRequest);
  if (params !== undefined) parts.push(Buffer.from(',"params":'), params);
  parts.push(Buffer.from('}'));
  return parts;
}

function convertedParams(serverRequest: Frame): Buffer | undefined {
  const { bytes, paramsStart, paramsEnd, metaStart, metaEnd, method } = serverRequest;
  if (paramsStart < 0) return method === ELICITATION ? EMPTY_OBJECT : undefined;
  const set = new Map<string, Buffer>();
  const remove = new Set(DROPPED);
  const hasMode = lastMember(bytes, paramsStart, paramsEnd, 'mode') !== undefined;
  if (method === ELICITATION && !hasMode) set.set('mode', FORM);
  if (metaStart >= 0) {
    const meta = editObject(bytes, metaStart, metaEnd, { remove: (key) => DROPPED_META.has(key) });
    if (isEmptyObject(meta, 0, meta.length)) remove.add('_meta');
    else set.set('_meta', meta);
  }
  return editObject(bytes, paramsStart, paramsEnd, { remove: (key) => remove.has(key), set });
}

/**
 * The failure of a call whose modern server sends too many requests at once.
 * @param answer an `input_required` result
 * @param server its configured name
 * @returns undefined if there are not too many
 */
export function tooManyServerRequests(answer: Frame, server: string): GatewayError | undefined {
  const asked = memberText(answer.bytes, answer.resultStart, answer.resultEnd, 'inputRequests');
  const count = asked?.[0] === OPEN_BRACE ? membersOf(asked, 0, asked.length).length : 0;
  return count <= MAX_SERVER_REQUESTS
    ? undefined
    : FAILURES.tooManyServerRequests(server, count, MAX_SERVER_REQUESTS);
}

const ACTIONS: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

/** Whether a client's answer has the form that its server request needs. */
export function isWellFormed(method: string, response: unknown): boolean {
  if (!isObject(response)) return false;
  switch (method) {
    case ELICITATION:
      return ACTIONS.has(response['action']);
    case SAMPLING:
      return response['content'] !== undefined && typeof response['role'] === 'string';
    case ROOTS_LIST:
      return Array.isArray(response['roots']);
    default:
      return false;
  }
}

/** The capability that a client needs for a server request, in the form of `requiredCapabilities`. */
export function requiredCapability(serverRequest: Frame): Record<string, unknown> {
  switch (serverRequest.method) {
    case ELICITATION: {
      const isUrl = textParam(serverRequest, 'mode') === 'url';
      return { elicitation: isUrl ? { url: {} } : {} };
    }
    case SAMPLING:
      return { sampling: {} };
    default:
      return { roots: {} };
  }
}
