// The lists of MCP: what each is called, where its entries stand, and what names an entry.
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
  /** Server capability that it needs, and whose change concerns it. */
  readonly kind: ListKind;
  /** Member of the result that has the entries. */
  readonly member: string;
  /** Member of an entry that names it. */
  readonly named: 'name' | 'uri' | 'uriTemplate';
  /** How long that may be. */
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

/** Whether a request asks for a list. */
export function isListMethod(method: string): method is ListMethod {
  return METHODS.has(method);
}
