// Checks the texts of a message that the gateway reads: whether they are too long, or have characters that
// would break a header or a log line. This is done once, by offsets, before anything is decoded.
import { TEXT_LIMITS } from '../base/text-limits.ts';
import type { Fault, Frame } from './frame.ts';

/**
 * Which text of a message is too long.
 * @param isPlain whether it is plain JSON-RPC, whose params the gateway does not read
 * @returns undefined if all are short enough
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
 * Whether a method has only allowed characters. MCP repeats it in a header, which can carry only visible
 * ASCII.
 */
export function hasMethodCharacters(method: string, isPlain: boolean): boolean {
  for (let at = 0; at < method.length; at++) {
    const code = method.charCodeAt(at);
    const isVisible = code > SPACE && code < DELETE;
    if (!isVisible && !(isPlain && (code === SPACE || code > LAST_CONTROL))) return false;
  }
  return true;
}
