// Compares the tools that a server lists with the accepted ones.
import { compareCodeUnits } from './canonical-json.ts';
import { type Definition, definitionOf, nameOf } from './definition.ts';
import type { PinnedTools } from './lock-file.ts';

/** One difference. */
export interface ToolChange {
  readonly name: string;
  /** The accepted definition; undefined: the tool is new. */
  readonly before: Definition | undefined;
  /** The listed definition; undefined: the tool was removed. */
  readonly after: Definition | undefined;
}

/** The result of comparing the tools of one server. */
export interface Comparison {
  /** Ordered by name. */
  readonly changes: readonly ToolChange[];
  readonly unchanged: number;
  /** Names with more than one definition. Only the first one can be accepted. */
  readonly twice: readonly string[];
  /** Names whose definition is too large to be shown, so it can't be accepted. */
  readonly unshown: readonly string[];
  /** The listed tools, to be accepted. */
  readonly listed: PinnedTools;
}

/**
 * Compares the tools of one server.
 * @param accepted the server's part of the lock file
 * @param tools entries of the server's `tools/list`
 */
export function compareTools(accepted: PinnedTools, tools: readonly Buffer[]): Comparison {
  const listed = new Map<string, Definition>();
  const twice = new Set<string>();
  const unshown = new Set<string>();
  for (const tool of tools) {
    const definition = definitionOf(tool);
    if (definition === undefined) {
      const name = nameOf(tool);
      if (name !== undefined) unshown.add(name);
      continue;
    }
    const first = listed.get(definition.name);
    if (first === undefined) listed.set(definition.name, definition);
    else if (first.digest !== definition.digest) twice.add(definition.name);
  }
  const names = [...new Set([...accepted.keys(), ...listed.keys()])].sort(compareCodeUnits);
  const compared = names.map((name) => ({
    name,
    before: accepted.get(name),
    after: listed.get(name),
  }));
  const changes = compared.filter(({ before, after }) => before?.digest !== after?.digest);
  const unchanged = names.length - changes.length;
  return { changes, unchanged, twice: [...twice], unshown: [...unshown], listed };
}
