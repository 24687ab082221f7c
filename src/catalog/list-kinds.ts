// The lists of MCP: what each is called, where its entries stand, and what names an entry.
import { PROMPTS_LIST, RESOURCES_LIST, TEMPLATES_LIST, TOOLS_LIST } from '../mcp/methods.ts';
import type { ListKind } from '../ports/seat.ts';

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
}

export const LISTS: Readonly<Record<ListMethod, ListRow>> = {
  [TOOLS_LIST]: { kind: 'tools', member: 'tools', named: 'name' },
  [PROMPTS_LIST]: { kind: 'prompts', member: 'prompts', named: 'name' },
  [RESOURCES_LIST]: { kind: 'resources', member: 'resources', named: 'uri' },
  [TEMPLATES_LIST]: { kind: 'resources', member: 'resourceTemplates', named: 'uriTemplate' },
};

const METHODS: ReadonlySet<string> = new Set(Object.keys(LISTS));

/** Whether a request asks for a list. */
export function isListMethod(method: string): method is ListMethod {
  return METHODS.has(method);
}
