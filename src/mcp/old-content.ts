// Content that the two oldest revisions do not know, and that their clients refuse whole results for: a
// link to a resource becomes text (docs/protocol.md#older-revisions).
import { lastMember } from '../jsonrpc/members.ts';
import { isObject, parseSpan, splitArray } from '../jsonrpc/parse.ts';
import { jsonText } from '../jsonrpc/serialize.ts';
import { replaceSpan } from '../jsonrpc/splice.ts';

const RESOURCE_LINK = Buffer.from('resource_link');
const FIRST_WITH_LINKS = '2025-06-18';

/**
 * A tool's result as a client of `version` can read it.
 * @param bytes JSON text that has the result, an object, at [start, end)
 * @returns `bytes` itself when nothing has to change
 */
export function readableContent(
  bytes: Buffer,
  start: number,
  end: number,
  version: string,
): Buffer {
  if (version >= FIRST_WITH_LINKS || !bytes.includes(RESOURCE_LINK)) return bytes;
  const content = lastMember(bytes, start, end, 'content');
  if (content === undefined) return bytes;
  const blocks = splitArray(bytes.subarray(content.valueStart, content.valueEnd));
  if (blocks.length === 0) return bytes;
  const texts = blocks.map((block) => withoutLink(block).toString('utf8'));
  const array = Buffer.from(`[${texts.join(',')}]`);
  return replaceSpan(bytes, content.valueStart, content.valueEnd, array);
}

function withoutLink(block: Buffer): Buffer {
  const value = parseSpan(block, 0, block.length);
  if (!isObject(value) || value['type'] !== 'resource_link') return block;
  const { name, uri } = value;
  if (typeof uri !== 'string') return block;
  const text = typeof name === 'string' ? `${name}: ${uri}` : uri;
  return Buffer.from(`{"type":"text","text":${jsonText(text)}}`);
}
