// Which of the texts that the gateway reads of a message are too long, or have characters that would break
// a header or a log line: found out once, by offsets, before anybody decodes them.
import { TEXT_LIMITS } from '../base/text-limits.ts';
import type { Fault, Frame } from './frame.ts';

/**
 * What of a message is longer than it may be.
 * @param isPlain whether it is plain JSON-RPC, whose params mean nothing to the gateway
 */
export function lengthFault(frame: Frame, isPlain: boolean): Fault | undefined {
  if (frame.idEnd - frame.idStart > TEXT_LIMITS.id) return 'long-id';
  if (isPlain) return undefined;
  if (frame.requestIdEnd - frame.requestIdStart > TEXT_LIMITS.id) return 'long-id';
  if (frame.tokenEnd - frame.tokenStart > TEXT_LIMITS.progressToken) return 'long-token';
  if (frame.nameEnd - frame.nameStart > TEXT_LIMITS.name) return 'long-name';
  return frame.uriEnd - frame.uriStart > TEXT_LIMITS.uri ? 'long-uri' : undefined;
}

const SPACE = 0x20;
const DELETE = 0x7f;
const LAST_CONTROL = 0x9f;

/**
 * Whether a method has only characters that methods may have. MCP repeats it in a header, which takes no
 * other than visible ASCII.
 */
export function hasMethodCharacters(method: string, isPlain: boolean): boolean {
  for (let at = 0; at < method.length; at++) {
    const code = method.charCodeAt(at);
    const isVisible = code > SPACE && code < DELETE;
    if (!isVisible && !(isPlain && (code === SPACE || code > LAST_CONTROL))) return false;
  }
  return true;
}
