// The tools of one server that were seen to ask their client something. Learned from attributed
// questions, kept over restarts (design.md 5.2 step 4).
import type { Frame } from '../jsonrpc/frame.ts';
import { decodeString, QUOTE } from '../jsonrpc/json-text.ts';
import { TOOLS_CALL } from '../mcp/methods.ts';

const MAX_TOOLS = 10_000;

/** Names of tools that ask. */
export class InteractiveTools {
  readonly #names = new Set<string>();

  /**
   * The tool that a request calls, if it is known to ask.
   * @returns its name, or undefined
   */
  match(request: Frame): string | undefined {
    if (this.#names.size === 0) return undefined;
    const name = toolOf(request);
    return name !== undefined && this.#names.has(name) ? name : undefined;
  }

  /** Remembers the tool that a request calls. */
  learn(request: Frame): void {
    const name = toolOf(request);
    if (name !== undefined && this.#names.size < MAX_TOOLS) this.#names.add(name);
  }
}

/** The tool that a request calls, or undefined when it calls none. */
export function toolOf(request: Frame): string | undefined {
  const { bytes, nameStart, nameEnd, method } = request;
  if (method !== TOOLS_CALL || nameStart < 0 || bytes[nameStart] !== QUOTE) return undefined;
  return decodeString(bytes, nameStart, nameEnd);
}
