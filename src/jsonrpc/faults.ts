// Why a message is not valid, in words for its sender. The same on every transport.
import { lengthRule, MAX_MEMBERS, TEXT_LIMITS } from '../base/text-limits.ts';
import { INVALID_REQUEST, PARSE_ERROR, type WireError } from './error.ts';
import type { Fault, Frame } from './frame.ts';

const WORDS: Readonly<Record<Exclude<Fault, 'json'>, string>> = {
  depth: 'nested too deeply',
  array: 'batches are not served here',
  'not-object': 'not an object',
  version: 'jsonrpc must be "2.0"',
  id: 'id must be a string or an integer',
  method: 'method must be a string',
  characters: 'method has control characters, or in MCP other characters than visible ASCII',
  params: 'params must be an object',
  members: `a message, its params and its _meta may have ${MAX_MEMBERS} members each`,
  duplicate: 'duplicate member, or a member name in another spelling',
  shape: 'not a request, notification or response',
  'long-method': lengthRule('method', TEXT_LIMITS.method),
  'long-id': lengthRule('an id', TEXT_LIMITS.id),
  'long-token': lengthRule('a progress token', TEXT_LIMITS.progressToken),
  'long-name': lengthRule('params.name', TEXT_LIMITS.name),
  'long-uri': lengthRule('params.uri', TEXT_LIMITS.uri),
};

/** The error for an invalid message. */
export function faultError({ fault = 'shape' }: Frame): WireError {
  if (fault === 'json') {
    return { code: PARSE_ERROR, message: 'Parse error: the message is not valid JSON.' };
  }
  return { code: INVALID_REQUEST, message: `Invalid request: ${WORDS[fault]}.` };
}
