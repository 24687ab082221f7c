// The tools of one server that are known or suspected to be interactive. Learned from server requests; kept
// when the process restarts (docs/protocol.md#attribution, docs/adr/0004).
import type { Frame } from '../jsonrpc/frame.ts';
import { decodeString, QUOTE } from '../jsonrpc/json-text.ts';
import { TOOLS_CALL } from '../mcp/methods.ts';

const MAX_TOOLS = 10_000;
/** One of this many calls is used to learn which tools do not ask. Tools in use are found quickly. */
const SAMPLE = 4;

/** A call that was answered. */
interface AnsweredCall {
  readonly id: number;
  readonly interactiveTool: string | undefined;
  readonly tool: string | undefined;
}

/** The names of interactive tools. */
export class InteractiveTools {
  readonly #names = new Map<string, 'known' | 'suspected'>();
  /** Tools of which a call ended without a server request, and which are not known to be interactive. */
  readonly #quiet = new Set<string>();
  #version = 0;

  /** Changes when a name is added. */
  get version(): number {
    return this.#version;
  }

  /**
   * The tool that a request calls, if it is known or suspected to be interactive.
   * @returns its name, or undefined
   */
  match(request: Frame): string | undefined {
    if (this.#names.size === 0) return undefined;
    const name = toolOf(request);
    return name !== undefined && this.#names.has(name) ? name : undefined;
  }

  /**
   * Learns from a server request. If all its candidates call the same tool, that tool is known to be
   * interactive. Otherwise each tool is suspected, if `mayBeSuspected`. Its next call, which runs alone, will
   * show.
   * @param called the tool of each candidate; undefined if it calls none
   */
  learn(called: readonly (string | undefined)[], mayBeSuspected = true): void {
    const tools = new Set(called);
    if (tools.size > 1 && !mayBeSuspected) return;
    for (const tool of tools) {
      if (tool !== undefined) this.#note(tool, tools.size === 1 ? 'known' : 'suspected');
    }
  }

  /** A call ended without a server request, so its tool is no longer suspected. */
  noteQuiet({ id, interactiveTool, tool }: AnsweredCall): void {
    if (interactiveTool !== undefined) {
      if (this.#names.get(interactiveTool) !== 'suspected') return;
      this.#names.delete(interactiveTool);
      this.#addQuiet(interactiveTool);
    } else if (id % SAMPLE === 0 && tool !== undefined && !this.#names.has(tool)) {
      this.#addQuiet(tool);
    }
  }

  /**
   * Whether a tool is suspected, but earlier calls of it did not ask: it is most probably not interactive.
   */
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

/** The tool that a request calls; undefined if it calls none. */
export function toolOf(request: Frame): string | undefined {
  const { bytes, nameStart, nameEnd, method } = request;
  if (method !== TOOLS_CALL || nameStart < 0 || bytes[nameStart] !== QUOTE) return undefined;
  return decodeString(bytes, nameStart, nameEnd);
}
