// The URIs in what servers send, as clients of an endpoint with several servers must see them, so
// that they can read them there (docs/protocol.md#merged-endpoints). Text that only looks like a URI
// is left alone.
import type { Frame } from '../jsonrpc/frame.ts';
import { matches } from '../jsonrpc/keys.ts';
import { editObject, lastMember, membersOf } from '../jsonrpc/members.ts';
import { parseString, splitArray } from '../jsonrpc/parse.ts';
import { scan } from '../jsonrpc/scan.ts';
import { jsonBytes } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { PROMPTS_GET, RESOURCES_READ, SAMPLING, TOOLS_CALL } from '../mcp/methods.ts';
import type { Effort } from './uri-templates.ts';

/**
 * What a URI is to clients.
 * @param effort what may be spent on finding that out
 */
export type ExposeUri = (uri: string, effort?: Effort) => string;

/** What is spent on the URIs of one message. */
const MESSAGE_STEPS = 10_000_000;

type ExposeHere = (uri: string) => string;

type Edit = (text: Buffer) => Buffer;

// Without the first quote, of which JSON has so many that the search would stop all the time.
const URI = Buffer.from('uri"');
const COMPLETE = Buffer.from('"complete"');
/** Members of `_meta` that name the page of an app: MCP Apps, its first draft, and OpenAI's apps. */
const PAGE_KEYS = ['ui/resourceUri', 'openai/outputTemplate'];
const PAGE_TEXTS = [Buffer.from('resourceUri"'), Buffer.from('outputTemplate"')];
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/**
 * The result of a server's answer with the URIs that clients can use.
 * @param method of the request
 * @param answer one with a result
 * @returns undefined where nothing changes
 */
export function exposedResult(
  method: string,
  answer: Frame,
  expose: ExposeUri,
): Buffer | undefined {
  const { bytes, resultStart, resultEnd } = answer;
  if (!mayNameUris(method, answer)) return undefined;
  const result = bytes.subarray(resultStart, resultEnd);
  const exposed = exposeResult(method, result, expose);
  return exposed === result ? undefined : exposed;
}

/** Nearly all results of tools have none: large ones are looked through only where one could be. */
function mayNameUris(method: string, answer: Frame): boolean {
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
  return PAGE_TEXTS.some((key) => text.includes(key));
}

/**
 * A tool, a result or a content with the URI of its app's page that clients can use.
 * @param text JSON text of an object with `_meta`
 * @returns the same object where nothing changes
 */
export function exposePage(text: Buffer, expose: (uri: string) => string): Buffer {
  if (!mayNamePage(text)) return text;
  return within(text, '_meta', (meta) => {
    const value: Edit = (uri) => exposedString(uri, expose);
    const inUi = within(meta, 'ui', (ui) => within(ui, 'resourceUri', value));
    return PAGE_KEYS.reduce((edited, key) => within(edited, key, value), inUi);
  });
}

/**
 * A result with the URIs that clients can use.
 * @param method of the request
 * @param result JSON text
 * @returns the same object where nothing changes
 */
export function exposeResult(method: string, result: Buffer, exposeUri: ExposeUri): Buffer {
  if (!result.includes(URI) && !mayNamePage(result)) return result;
  const expose = inOneMessage(exposeUri);
  const block: Edit = (text) => contentBlock(text, expose);
  switch (method) {
    case TOOLS_CALL:
      return within(exposePage(withQuestions(result, expose), expose), 'content', (list) =>
        each(list, block),
      );
    case PROMPTS_GET:
      return within(withQuestions(result, expose), 'messages', (list) =>
        each(list, message(expose)),
      );
    case RESOURCES_READ:
      return within(withQuestions(result, expose), 'contents', (list) =>
        each(list, (text) => exposePage(uriMember(text, expose), expose)),
      );
    default:
      return result;
  }
}

/** A server's question with such URIs. */
export function exposeQuestion(bytes: Buffer, exposeUri: ExposeUri): Buffer {
  if (!bytes.includes(URI)) return bytes;
  const { method, paramsStart, paramsEnd } = scan(bytes);
  if (method !== SAMPLING || paramsStart < 0) return bytes;
  const params = bytes.subarray(paramsStart, paramsEnd);
  const edited = samplingParams(params, inOneMessage(exposeUri));
  return edited === params ? bytes : replaceSpan(bytes, paramsStart, paramsEnd, edited);
}

/** A server may put any number of URIs into a message. */
function inOneMessage(expose: ExposeUri): ExposeHere {
  const effort: Effort = { left: MESSAGE_STEPS };
  return (uri) => expose(uri, effort);
}

function samplingParams(params: Buffer, expose: ExposeHere): Buffer {
  return within(params, 'messages', (list) => each(list, message(expose)));
}

/** Questions of a modern server stand in its results. */
function withQuestions(result: Buffer, expose: ExposeHere): Buffer {
  return within(result, 'inputRequests', (requests) =>
    eachValue(requests, (request) =>
      within(request, 'params', (params) => samplingParams(params, expose)),
    ),
  );
}

function message(expose: ExposeHere): Edit {
  return (text) => within(text, 'content', (content) => contentOf(content, expose));
}

/** One block or several. */
function contentOf(content: Buffer, expose: ExposeHere, isInResult = false): Buffer {
  const block: Edit = (text) => contentBlock(text, expose, isInResult);
  return content[0] === OPEN_BRACKET ? each(content, block) : block(content);
}

/** @param isInResult whether it stands in a tool's result, which holds no other tool's result */
function contentBlock(block: Buffer, expose: ExposeHere, isInResult = false): Buffer {
  if (block[0] !== OPEN_BRACE || !block.includes(URI)) return block;
  const type = lastMember(block, 0, block.length, 'type');
  switch (type && parseString(block, type.valueStart, type.valueEnd)) {
    case 'resource_link':
      return uriMember(block, expose);
    case 'resource':
      return within(block, 'resource', (resource) => uriMember(resource, expose));
    case 'tool_result':
      // Nested ones would be read once for each level that they stand at.
      if (isInResult) return block;
      return within(block, 'content', (content) => contentOf(content, expose, true));
    default:
      return block;
  }
}

function uriMember(text: Buffer, expose: ExposeHere): Buffer {
  return within(text, 'uri', (value) => exposedString(value, expose));
}

function exposedString(value: Buffer, expose: ExposeHere): Buffer {
  const uri = parseString(value, 0, value.length);
  const exposed = uri === undefined ? undefined : expose(uri);
  return exposed === undefined || exposed === uri ? value : jsonBytes(exposed);
}

/** Changes one member of an object. */
function within(text: Buffer, key: string, edit: Edit): Buffer {
  if (text[0] !== OPEN_BRACE) return text;
  const member = lastMember(text, 0, text.length, key);
  if (member === undefined) return text;
  const value = text.subarray(member.valueStart, member.valueEnd);
  const edited = edit(value);
  if (edited === value) return text;
  return replaceSpan(text, member.valueStart, member.valueEnd, edited);
}

/** Changes the values of an object, of which a server may have put in many: in one pass. */
function eachValue(text: Buffer, edit: Edit): Buffer {
  if (text[0] !== OPEN_BRACE) return text;
  const parts: Buffer[] = [];
  let copied = 0;
  for (const { valueStart, valueEnd } of membersOf(text, 0, text.length)) {
    const value = text.subarray(valueStart, valueEnd);
    const edited = edit(value);
    if (edited === value) continue;
    parts.push(text.subarray(copied, valueStart), edited);
    copied = valueEnd;
  }
  if (copied === 0) return text;
  parts.push(text.subarray(copied));
  return Buffer.concat(parts);
}

/** Changes the items of an array. */
function each(list: Buffer, edit: Edit): Buffer {
  const items = splitArray(list);
  const edited = items.map(edit);
  if (edited.every((item, i) => item === items[i])) return list;
  return Buffer.from(`[${edited.map((item) => item.toString('utf8')).join(',')}]`);
}

/** A listed entry, or any object, with another name in it. */
export function withMember(text: Buffer, key: string, value: string): Buffer {
  const member = lastMember(text, 0, text.length, key);
  if (member !== undefined) {
    return replaceSpan(text, member.valueStart, member.valueEnd, jsonBytes(value));
  }
  return editObject(text, 0, text.length, { set: new Map([[key, jsonBytes(value)]]) });
}
