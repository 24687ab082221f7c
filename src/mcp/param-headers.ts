// Which arguments of a tool are repeated in headers: properties whose schema has `x-mcp-header` (SEP-2243). A
// tool with an invalid annotation has none.
import { isObject, type JsonObject } from '../jsonrpc/parse.ts';

/** One mirrored argument. */
export interface ParamHeader {
  /** `mcp-param-region`, in lower case. */
  readonly header: string;
  /** The path to the argument, through `properties` only. */
  readonly path: readonly string[];
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PRIMITIVES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean', 'number']);
/** Types whose text is the same for both sides. */
const EXACT: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const MAX_DEPTH = 16;

/** The mirrored arguments of a tool, from its input schema; none if an annotation is invalid. */
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

/** The argument at a path; undefined if it is absent or null. */
export function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  return value === null ? undefined : value;
}

/** Keywords whose value is data, not a schema. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

/**
 * Whether all annotations of a schema are valid. A client must not show a tool with an invalid one
 * (2026-07-28 basic/transports/streamable-http).
 */
export function hasValidHeaders(inputSchema: unknown): boolean {
  const names = new Set<string>();
  return isValid(inputSchema, false, true, names, 0);
}

/**
 * @param isProperty whether the schema is a member of `properties`
 * @param isReachable whether the path to it has only `properties`
 */
function isValid(
  schema: unknown,
  isProperty: boolean,
  isReachable: boolean,
  names: Set<string>,
  depth: number,
): boolean {
  if (Array.isArray(schema)) {
    return schema.every((item) => isValid(item, false, false, names, depth + 1));
  }
  if (!isObject(schema) || depth > 4 * MAX_DEPTH) return true;
  const annotation = schema['x-mcp-header'];
  if (annotation !== undefined) {
    if (!isProperty || !isReachable || typeof annotation !== 'string') return false;
    const name = annotation.toLowerCase();
    const isExact = EXACT.has(schema['type']);
    if (!TOKEN.test(annotation) || names.has(name) || !isExact) return false;
    names.add(name);
  }
  return Object.entries(schema).every(([keyword, value]) => {
    if (DATA_KEYWORDS.has(keyword)) return true;
    if (keyword !== 'properties') return isValid(value, false, false, names, depth + 1);
    if (!isObject(value)) return true;
    return Object.values(value).every((property) =>
      isValid(property, true, isReachable, names, depth + 1),
    );
  });
}
