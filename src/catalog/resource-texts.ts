// Replaces the URIs in messages of servers by those that clients of a merged endpoint can use
// (docs/protocol.md#merged-endpoints). Other text that looks like a URI is not changed.
import { finished } from '../base/steps.ts';
import type { Frame } from '../jsonrpc/frame.ts';
import { OPEN_BRACE, OPEN_BRACKET } from '../jsonrpc/json-text.ts';
import { matches } from '../jsonrpc/keys.ts';
import { editObject, lastMember } from '../jsonrpc/members.ts';
import { parseString } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import {
  type Edit,
  each,
  eachValue,
  finishedInTurns,
  memberSteps,
  type Steps,
  within,
} from '../jsonrpc/text-steps.ts';
import { viewOf } from '../jsonrpc/text-walk.ts';
import { PROMPTS_GET, RESOURCES_READ, SAMPLING, TOOLS_CALL } from '../mcp/methods.ts';
import type { MatchBudget } from './uri-templates.ts';

/**
 * Translates a URI of a server for clients.
 * @param matchBudget what the translation may cost
 */
export type ExposeUri = (uri: string, matchBudget?: MatchBudget) => string;

/** What the translation of all URIs of one message may cost. */
const MESSAGE_STEPS = 10_000_000;

type ExposeHere = (uri: string) => string;

// Without the first quote: JSON has so many quotes that the search would stop all the time.
const URI = Buffer.from('uri"');
const COMPLETE = Buffer.from('"complete"');
/** Members of `_meta` that name the page of an app: MCP Apps, its first draft, and OpenAI's apps. */
const PAGE_KEYS = ['ui/resourceUri', 'openai/outputTemplate'];
const PAGE_TEXT = Buffer.from('resourceUri"');
const TEMPLATE_TEXT = Buffer.from('outputTemplate"');

/**
 * Whether the result in an answer may contain a URI. Most results of tools don't, so large ones need not be
 * searched.
 * @param method of the request
 * @param answer with a result
 */
export function mayNameUris(method: string, answer: Frame): boolean {
  const { bytes, resultStart, resultEnd, contentStart, contentEnd } = answer;
  const { resultTypeStart, resultTypeEnd } = answer;
  if (method !== TOOLS_CALL) return true;
  const isOver = resultTypeStart < 0 || matches(bytes, resultTypeStart, resultTypeEnd, COMPLETE);
  if (!isOver) return true;
  if (contentStart < 0) return mayNamePage(bytes.subarray(resultStart, resultEnd));
  const content = bytes.subarray(contentStart, contentEnd);
  return (
    content.includes(URI) ||
    mayNamePage(bytes.subarray(resultStart, contentStart)) ||
    mayNamePage(bytes.subarray(contentEnd, resultEnd))
  );
}

function mayNamePage(text: Buffer): boolean {
  return text.includes(PAGE_TEXT) || text.includes(TEMPLATE_TEXT);
}

function mayNameUri(text: Buffer): boolean {
  return text.includes(URI) || mayNamePage(text);
}

/**
 * A tool, a result or content, with the URI of its app page translated.
 * @param text JSON text of an object with `_meta`
 * @returns the same buffer if nothing changes
 */
export function exposePage(text: Buffer, expose: (uri: string) => string): Buffer {
  return mayNamePage(text) ? finished(pageSteps(text, expose)) : text;
}

function* pageSteps(text: Buffer, expose: ExposeHere): Steps {
  if (!mayNamePage(text)) return text;
  const value: Edit = (uri) => exposedString(uri, expose);
  return yield* within(text, '_meta', function* (meta) {
    let edited = yield* within(meta, 'ui', (ui) => within(ui, 'resourceUri', value));
    for (const key of PAGE_KEYS) edited = yield* within(edited, key, value);
    return edited;
  });
}

/**
 * A result with translated URIs.
 * @param method of the request
 * @param result JSON text
 * @returns the same buffer if nothing changes
 */
export function exposeResult(method: string, result: Buffer, expose: ExposeUri): Buffer {
  return mayNameUri(result) ? finished(resultSteps(method, result, expose)) : result;
}

/**
 * Like `exposeResult`, in several turns of the event loop if the result is large.
 * @returns the same buffer if nothing changes
 */
export function exposeInTurns(
  method: string,
  result: Buffer,
  expose: ExposeUri,
): Buffer | Promise<Buffer> {
  return mayNameUri(result) ? finishedInTurns(resultSteps(method, result, expose)) : result;
}

function* resultSteps(method: string, result: Buffer, exposeUri: ExposeUri): Steps {
  const matchBudget: MatchBudget = { left: MESSAGE_STEPS };
  const expose = inOneMessage(exposeUri, matchBudget);
  const block: Edit = (text) => contentBlock(text, expose);
  switch (method) {
    case TOOLS_CALL: {
      const paged = yield* pageSteps(yield* withServerRequests(result, expose), expose);
      return yield* within(paged, 'content', (list) => each(list, block, URI));
    }
    case PROMPTS_GET:
      return yield* within(yield* withServerRequests(result, expose), 'messages', (list) =>
        each(list, message(expose), URI),
      );
    case RESOURCES_READ:
      return yield* within(yield* withServerRequests(result, expose), 'contents', (list) =>
        each(list, function* (text) {
          return yield* pageSteps(yield* uriMember(text, expose), expose);
        }),
      );
    default:
      return result;
  }
}

/** A server request with translated URIs. */
export function exposeServerRequest(bytes: Buffer, exposeUri: ExposeUri): Buffer {
  if (!bytes.includes(URI)) return bytes;
  const { method, paramsStart, paramsEnd } = scan(bytes);
  if (method !== SAMPLING || paramsStart < 0) return bytes;
  const params = viewOf(bytes, paramsStart, paramsEnd);
  const expose = inOneMessage(exposeUri, { left: MESSAGE_STEPS });
  const edited = finished(samplingParams(params, expose));
  return edited === params ? bytes : replaceSpan(bytes, paramsStart, paramsEnd, edited);
}

/** A server may put any number of URIs into a message, so they share one budget. */
function inOneMessage(expose: ExposeUri, matchBudget: MatchBudget): ExposeHere {
  return (uri) => expose(uri, matchBudget);
}

function samplingParams(params: Buffer, expose: ExposeHere): Steps {
  return within(params, 'messages', (list) => each(list, message(expose), URI));
}

/** A modern server has its requests in results. */
function withServerRequests(result: Buffer, expose: ExposeHere): Steps {
  return within(result, 'inputRequests', (requests) =>
    eachValue(
      requests,
      (request) => within(request, 'params', (params) => samplingParams(params, expose)),
      URI,
    ),
  );
}

function message(expose: ExposeHere): Edit {
  return (text) => within(text, 'content', (content) => contentOf(content, expose));
}

/** One block, or an array of blocks. */
function contentOf(content: Buffer, expose: ExposeHere, isInResult = false): Steps {
  const block: Edit = (text) => contentBlock(text, expose, isInResult);
  return content[0] === OPEN_BRACKET ? each(content, block, URI) : block(content);
}

/** @param isInResult whether the block is in a tool result; then it can't contain another tool result */
function* contentBlock(block: Buffer, expose: ExposeHere, isInResult = false): Steps {
  if (block[0] !== OPEN_BRACE || !block.includes(URI)) return block;
  const type = yield* memberSteps(block, 'type');
  switch (type && parseString(block, type.valueStart, type.valueEnd)) {
    case 'resource_link':
      return yield* uriMember(block, expose);
    case 'resource':
      return yield* within(block, 'resource', (resource) => uriMember(resource, expose));
    case 'tool_result':
      // Nested results would be read again for each level of nesting.
      if (isInResult) return block;
      return yield* within(block, 'content', (content) => contentOf(content, expose, true));
    default:
      return block;
  }
}

function uriMember(text: Buffer, expose: ExposeHere): Steps {
  return within(text, 'uri', (value) => exposedString(value, expose));
}

/** The cost of translating one URI, in bytes. */
const EXPOSE_BYTES = 256;

function* exposedString(value: Buffer, expose: ExposeHere): Steps {
  yield value.length + EXPOSE_BYTES;
  const uri = parseString(value, 0, value.length);
  const exposed = uri === undefined ? undefined : expose(uri);
  return exposed === undefined || exposed === uri ? value : jsonBytes(exposed);
}

/** A list entry or other object, with one member replaced. */
export function withMember(text: Buffer, key: string, value: string): Buffer {
  const member = lastMember(text, 0, text.length, key);
  if (member !== undefined) {
    return replaceSpan(text, member.valueStart, member.valueEnd, jsonBytes(value));
  }
  return editObject(text, 0, text.length, { set: new Map([[key, jsonBytes(value)]]) });
}
