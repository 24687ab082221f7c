// Which arguments of a tool travel as headers too: properties whose schema has `x-mcp-header`
// (SEP-2243). Invalid annotations are not enforced.
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';

/** One mirrored argument. */
export interface ParamHeader {
  /** `mcp-param-region`, in lower case. */
  readonly header: string;
  /** Where the argument stands, through `properties` only. */
  readonly path: readonly string[];
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PRIMITIVES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean', 'number']);
const MAX_DEPTH = 16;

/** The mirrored arguments of a tool, as its input schema says; none if an annotation is invalid. */
export function paramHeadersOf(inputSchema: unknown): ParamHeader[] {
  const found: ParamHeader[] = [];
  if (isObject(inputSchema)) collect(inputSchema, [], found);
  const names = new Set(found.map(({ header }) => header));
  return names.size === found.length ? found : [];
}

function collect(schema: JsonObject, path: readonly string[], found: ParamHeader[]): void {
  const { properties } = schema;
  if (!isObject(properties) || path.length >= MAX_DEPTH) return;
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) continue;
    const here = [...path, name];
    const annotation = property['x-mcp-header'];
    if (
      typeof annotation === 'string' &&
      TOKEN.test(annotation) &&
      PRIMITIVES.has(property['type'])
    ) {
      found.push({ header: `mcp-param-${annotation.toLowerCase()}`, path: here });
    }
    collect(property, here, found);
  }
}

/** The argument at a path; undefined when it is absent or null. */
export function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  return value === null ? undefined : value;
}
