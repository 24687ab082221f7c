// TOML, which Codex uses for its configuration. This parser keeps the position of each key and value.
import { createRequire } from 'node:module';
import type * as Toml from 'toml-eslint-parser';
import { isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from 'yaml';
import {
  listAt,
  mapAt,
  member,
  type ParsedText,
  readable,
  scalarAt,
  unreadable,
} from './parsed-text.ts';

/** Parses TOML. */
export function parseToml(text: string): ParsedText {
  // Loaded on demand, because hardly any configuration is TOML.
  const { parseTOML, ParseError } = createRequire(import.meta.url)(
    'toml-eslint-parser',
  ) as typeof Toml;
  try {
    const [top] = parseTOML(text).body;
    const root = mapAt([0, 0]);
    for (const item of top.body) {
      if (item.type === 'TOMLKeyValue') addValue(root, item);
      else addTable(root, item);
    }
    return readable(root);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const reason = error.message.charAt(0).toLowerCase() + error.message.slice(1);
    return unreadable([{ offset: error.index, message: `is not valid TOML: ${reason}` }]);
  }
}

/** `[a.b]` and `[[a.b]]`. The parser checks what may be duplicated. */
function addTable(root: YAMLMap, table: Toml.AST.TOMLTable): void {
  const keys = table.key.keys.map(keyNode);
  const span = table.range;
  let map = root;
  for (const [index, key] of keys.entries()) {
    const isNew = table.kind === 'array' && index === keys.length - 1;
    map = isNew ? newElement(map, key, span) : innerMap(map, key, span);
  }
  for (const item of table.body) addValue(map, item);
}

/** `a.b = value` */
function addValue(into: YAMLMap, { key, value }: Toml.AST.TOMLKeyValue): void {
  const keys = key.keys.map(keyNode);
  const last = keys.pop();
  if (last === undefined) return;
  const map = keys.reduce((outer, one) => innerMap(outer, one, key.range), into);
  map.items.push(member(last, nodeOf(value)));
}

function nodeOf(node: Toml.AST.TOMLContentNode): Node {
  if (node.type === 'TOMLInlineTable') {
    const map = mapAt(node.range);
    for (const item of node.body) addValue(map, item);
    return map;
  }
  if (node.type === 'TOMLArray') {
    const list = listAt(node.range);
    list.items = node.elements.map(nodeOf);
    return list;
  }
  // No option is a date. As a string it can at least be shown as it was written.
  return scalarAt('datetime' in node ? node.datetime : node.value, node.range);
}

function keyNode(key: Toml.AST.TOMLBare | Toml.AST.TOMLQuoted): Scalar {
  return scalarAt(key.type === 'TOMLBare' ? key.name : key.value, key.range);
}

/** The map under a key, or the last one if there is a list of maps. */
function innerMap(outer: YAMLMap, key: Scalar, span: readonly [number, number]): YAMLMap {
  const found = valueAt(outer, key);
  const inner = isSeq(found) ? found.items.at(-1) : found;
  if (isMap(inner)) return inner as YAMLMap;
  const map = mapAt(span);
  outer.items.push(member(key, map));
  return map;
}

function newElement(outer: YAMLMap, key: Scalar, span: readonly [number, number]): YAMLMap {
  const found = valueAt(outer, key);
  const list = isSeq(found) ? found : listAt(span);
  if (list !== found) outer.items.push(member(key, list));
  const map = mapAt(span);
  list.items.push(map);
  return map;
}

function valueAt(map: YAMLMap, key: Scalar): unknown {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key.value)?.value;
}
