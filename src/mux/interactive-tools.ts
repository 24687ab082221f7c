// The tools of one server that were seen to ask their client something, and those that may have.
// Learned from server requests, kept over restarts (docs/protocol.md#attribution, docs/adr/0004).
import type { Frame } from '../jsonrpc/frame.ts';
import { decodeString, QUOTE } from '../jsonrpc/json-text.ts';
import { TOOLS_CALL } from '../mcp/methods.ts';

const MAX_TOOLS = 10_000;
/** Of so many calls one is looked at, to know the tools that ask nothing: those that are used are found soon. */
const SAMPLE = 4;

/** A call that was answered. */
interface AnsweredCall {
  readonly id: number;
  readonly interactiveTool: string | undefined;
  readonly tool: string | undefined;
}

/** Names of tools that ask, or are suspected to. */
export class InteractiveTools {
  readonly #names = new Map<string, 'known' | 'suspected'>();
  /** Tools that were called to the end without asking, and are not known to ask. */
  readonly #quiet = new Set<string>();
  #version = 0;

  /** Changes when there are more names. */
  get version(): number {
    return this.#version;
  }

  /**
   * The tool that a request calls, if it is known or suspected to ask.
   * @returns its name, or undefined
   */
  match(request: Frame): string | undefined {
    if (this.#names.size === 0) return undefined;
    const name = toolOf(request);
    return name !== undefined && this.#names.has(name) ? name : undefined;
  }

  /**
   * Learns from a server request that one of some calls is behind. If all call the same tool, that
   * is known to ask. Otherwise each tool is suspected, if `mayBeSuspected`: its next call that runs
   * alone will tell.
   * @param called the tool of each call; undefined where it calls none
   */
  learn(called: readonly (string | undefined)[], mayBeSuspected = true): void {
    const tools = new Set(called);
    if (tools.size > 1 && !mayBeSuspected) return;
    for (const tool of tools) {
      if (tool !== undefined) this.#note(tool, tools.size === 1 ? 'known' : 'suspected');
    }
  }

  /** A call came to its end and asked nothing: its tool is no suspect any more. */
  noteQuiet({ id, interactiveTool, tool }: AnsweredCall): void {
    if (interactiveTool !== undefined) {
      if (this.#names.get(interactiveTool) !== 'suspected') return;
      this.#names.delete(interactiveTool);
      this.#addQuiet(interactiveTool);
    } else if (id % SAMPLE === 0 && tool !== undefined && !this.#names.has(tool)) {
      this.#addQuiet(tool);
    }
  }

  /** Whether a tool is suspected, and has not asked before: most probably it does not. */
  isHardlySuspected(name: string): boolean {
    return this.#names.get(name) === 'suspected' && this.#quiet.has(name);
  }

  #addQuiet(name: string): void {
    if (this.#quiet.size < MAX_TOOLS) this.#quiet.add(name);
  }

  #note(name: string, certainty: 'known' | 'suspected'): void {
    const before = this.#names.get(name);
    if (before === 'known' || before === certainty) return;
    if (before === undefined && this.#names.size >= MAX_TOOLS) return;
    this.#names.set(name, certainty);
    if (certainty === 'known') this.#quiet.delete(name);
    if (before === undefined) this.#version++;
  }
}

/** The tool that a request calls, or undefined when it calls none. */
export function toolOf(request: Frame): string | undefined {
  const { bytes, nameStart, nameEnd, method } = request;
  if (method !== TOOLS_CALL || nameStart < 0 || bytes[nameStart] !== QUOTE) return undefined;
  return decodeString(bytes, nameStart, nameEnd);
}
