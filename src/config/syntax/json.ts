// JSON as hosts write it: with comments, and trailing commas. It is read by the parser that VS Code uses, so
// it means the same here.
import { createRequire } from 'node:module';
import type * as Jsonc from 'jsonc-parser';
import type { Node, YAMLMap } from 'yaml';
import {
  listAt,
  MAX_SYNTAX_PROBLEMS,
  mapAt,
  member,
  type ParsedText,
  readable,
  type Span,
  type SyntaxProblem,
  scalarAt,
  twice,
  unreadable,
} from './parsed-text.ts';

/** What would be right, by the parser's name for the error. */
const RIGHT: Readonly<Record<string, string>> = {
  InvalidNumberFormat: 'this number is not written as JSON writes them',
  PropertyNameExpected: 'a key in double quotes is missing here',
  ValueExpected: 'a value is missing here',
  ColonExpected: 'a colon is missing here',
  CommaExpected: 'a comma is missing here',
  CloseBraceExpected: 'a } is missing here',
  CloseBracketExpected: 'a ] is missing here',
  EndOfFileExpected: 'nothing may follow the last }',
  UnexpectedEndOfComment: 'this comment has no end: close it with */',
  UnexpectedEndOfString: 'this text has no closing double quote in its line',
  InvalidUnicode: 'a \\u in this text needs four hexadecimal digits',
  InvalidEscapeCharacter: 'a backslash in this text starts no escape: write \\\\ for a backslash',
  InvalidCharacter: 'this text has a control character: write it as \\t or \\u and four digits',
};

/** Parses JSON. `isMeant` says whether the file name means JSON. */
export function parseJson(text: string, isMeant: boolean): ParsedText {
  // Loaded on demand, because most configurations are YAML.
  const { parseTree, printParseErrorCode } = createRequire(import.meta.url)(
    'jsonc-parser',
  ) as typeof Jsonc;
  const errors: Jsonc.ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  if (tree === undefined || errors.length > 0) {
    const hint = isMeant ? '' : ' (a file that starts with { is read as JSON)';
    const problems = errors.map(({ error, offset, length }) => {
      const what = explain(printParseErrorCode(error), text.slice(offset, offset + length));
      return { offset, message: `is not valid JSON: ${what}${hint}` };
    });
    return unreadable(firstOfEachLine(problems, text).slice(0, MAX_SYNTAX_PROBLEMS));
  }
  const problems: SyntaxProblem[] = [];
  return readable(nodeOf(tree, problems), problems);
}

function explain(code: string, found: string): string {
  if (code !== 'InvalidSymbol') return RIGHT[code] ?? 'it can not be read here';
  const word = found.replace(/^'|'$/g, '').slice(0, 60);
  return `${word} is no JSON value: put text and keys in double quotes`;
}

/** Further errors in the same line are usually caused by the first one. */
function firstOfEachLine(problems: readonly SyntaxProblem[], text: string): SyntaxProblem[] {
  const seen = new Set<number>();
  return problems.filter(({ offset }) => {
    const line = text.lastIndexOf('\n', offset - 1);
    const isFirst = !seen.has(line);
    seen.add(line);
    return isFirst;
  });
}

function nodeOf(node: Jsonc.Node, problems: SyntaxProblem[]): Node {
  if (node.type === 'object') return mapOf(node, problems);
  if (node.type !== 'array') return scalarAt(node.value, spanOf(node));
  const list = listAt(spanOf(node));
  list.items = (node.children ?? []).map((child) => nodeOf(child, problems));
  return list;
}

function mapOf(node: Jsonc.Node, problems: SyntaxProblem[]): YAMLMap {
  const map = mapAt(spanOf(node));
  const seen = new Set<string>();
  for (const { children: [key, value] = [] } of node.children ?? []) {
    if (key === undefined || value === undefined) continue;
    const name = String(key.value);
    if (seen.has(name)) problems.push({ offset: key.offset, message: twice(name) });
    seen.add(name);
    map.items.push(member(scalarAt(name, spanOf(key)), nodeOf(value, problems)));
  }
  return map;
}

function spanOf({ offset, length }: Jsonc.Node): Span {
  return [offset, offset + length];
}
