// Arguments of a tool call that clients don't see: fixed ones replace what the client sends, defaults are
// added. The rest of the call is copied.

import type { Frame } from '../jsonrpc/frame.ts';
import { EMPTY_OBJECT, OPEN_BRACE } from '../jsonrpc/json-text.ts';
import { editObject, lastMember, membersOf, withEdited } from '../jsonrpc/members.ts';
import type { ArgumentRule } from './shaping.ts';

const NULL = 'null';

/**
 * A call with the arguments that the rules require.
 * @param call a request `tools/call`
 * @param rules by argument
 * @returns the call itself if nothing changes; undefined if its arguments are not an object, so that nothing
 *   can be fixed
 */
export function withArguments(
  call: Frame,
  rules: ReadonlyMap<string, ArgumentRule>,
): Frame | undefined {
  const { bytes, paramsStart, paramsEnd } = call;
  if (rules.size === 0 || paramsStart < 0) return call;
  // Parsers use the last one of several members with one name; the edit below keeps only one.
  const member = lastMember(bytes, paramsStart, paramsEnd, 'arguments');
  const sent =
    member === undefined ? EMPTY_OBJECT : bytes.subarray(member.valueStart, member.valueEnd);
  const args = sent.toString('latin1') === NULL ? EMPTY_OBJECT : sent;
  if (args[0] !== OPEN_BRACE) return undefined;
  const there = new Set(membersOf(args, 0, args.length).map(({ key }) => key));
  const set = new Map<string, Buffer>();
  for (const [name, { kind, text }] of rules) {
    if (kind === 'value' || !there.has(name)) set.set(name, Buffer.from(text));
  }
  if (set.size === 0) return call;
  const edited = editObject(args, 0, args.length, { set });
  return withEdited(call, paramsStart, paramsEnd, { set: new Map([['arguments', edited]]) });
}
