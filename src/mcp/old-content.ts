// Content that the two oldest revisions do not know. Their clients would refuse the whole result, so a link
// to a resource becomes text (docs/protocol.md#older-revisions).
import { OPEN_BRACKET } from '../jsonrpc/json-text.ts';
import { lastMembers } from '../jsonrpc/members.ts';
import { parseString } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';
import { each, finishedInTurns, memberSteps, type Steps } from '../jsonrpc/text-steps.ts';
import { viewOf } from '../jsonrpc/text-walk.ts';

const RESOURCE_LINK = Buffer.from('resource_link');
const FIRST_WITH_LINKS = '2025-06-18';

/**
 * A tool's result as a client of `version` can read it; takes several turns if it is large.
 * @param bytes JSON text with the result's `content` at [start, end); -1: there is none
 * @returns `bytes` itself if nothing has to change
 */
export function readableContent(
  bytes: Buffer,
  start: number,
  end: number,
  version: string,
): Buffer | Promise<Buffer> {
  if (version >= FIRST_WITH_LINKS || bytes[start] !== OPEN_BRACKET) return bytes;
  if (!bytes.includes(RESOURCE_LINK, start)) return bytes;
  return finishedInTurns(contentSteps(bytes, start, end));
}

/** Like `readableContent`, for the text of a result. */
export function readableResult(result: Buffer, version: string): Buffer | Promise<Buffer> {
  if (version >= FIRST_WITH_LINKS || !result.includes(RESOURCE_LINK)) return result;
  return finishedInTurns(resultSteps(result));
}

function* resultSteps(result: Buffer): Steps {
  const content = yield* memberSteps(result, 'content');
  if (content === undefined || result[content.valueStart] !== OPEN_BRACKET) return result;
  return yield* contentSteps(result, content.valueStart, content.valueEnd);
}

function* contentSteps(bytes: Buffer, start: number, end: number): Steps {
  const content = viewOf(bytes, start, end);
  const edited = yield* each(content, withoutLink, RESOURCE_LINK);
  if (edited === content) return bytes;
  yield bytes.length;
  return replaceSpan(bytes, start, end, edited);
}

function* withoutLink(block: Buffer): Steps {
  yield block.length;
  const members = lastMembers(block, 0, block.length, ['type', 'name', 'uri']);
  const read = (key: string): string | undefined => {
    const member = members.get(key);
    return member && parseString(block, member.valueStart, member.valueEnd);
  };
  const uri = read('uri');
  if (read('type') !== 'resource_link' || uri === undefined) return block;
  const name = read('name');
  const text = name === undefined ? uri : `${name}: ${uri}`;
  return Buffer.from(`{"type":"text","text":${jsonText(text)}}`);
}
