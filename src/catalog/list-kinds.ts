// The lists of MCP: their methods, the members that have the entries, and what identifies an entry.
import { TEXT_LIMITS } from '../base/text-limits.ts';
import { PROMPTS_LIST, RESOURCES_LIST, TEMPLATES_LIST, TOOLS_LIST } from '../mcp/methods.ts';
import type { ListKind } from '../ports/lease.ts';

/** A request for a list. */
export type ListMethod =
  | 'tools/list'
  | 'prompts/list'
  | 'resources/list'
  | 'resources/templates/list';

interface ListRow {
  /** The server capability that it needs; its changes are announced as this kind. */
  readonly kind: ListKind;
  /** The member of the result with the entries. */
  readonly member: string;
  /** The member that identifies an entry. */
  readonly named: 'name' | 'uri' | 'uriTemplate';
  /** The longest length of that member. */
  readonly maxLength: number;
}

const { name: NAME, uri: URI } = TEXT_LIMITS;

export const LISTS: Readonly<Record<ListMethod, ListRow>> = {
  [TOOLS_LIST]: { kind: 'tools', member: 'tools', named: 'name', maxLength: NAME },
  [PROMPTS_LIST]: { kind: 'prompts', member: 'prompts', named: 'name', maxLength: NAME },
  [RESOURCES_LIST]: { kind: 'resources', member: 'resources', named: 'uri', maxLength: URI },
  [TEMPLATES_LIST]: {
    kind: 'resources',
    member: 'resourceTemplates',
    named: 'uriTemplate',
    maxLength: URI,
  },
};

const METHODS: ReadonlySet<string> = new Set(Object.keys(LISTS));

/** Whether a method requests a list. */
export function isListMethod(method: string): method is ListMethod {
  return METHODS.has(method);
}
