// The result of every parser: a tree with the position of each node.
import { Document, type LineCounter, type Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';

/** What a parser said about a position. */
export interface SyntaxProblem {
  readonly offset: number;
  readonly message: string;
}

/** A parsed text. JSON and TOML use the nodes of the YAML package, so one walk works for all. */
export interface ParsedText {
  readonly document: Document;
  readonly problems: readonly SyntaxProblem[];
  readonly warnings: readonly SyntaxProblem[];
  /** False if there is no tree. */
  readonly isReadable: boolean;
}

/** Later errors are usually caused by the first ones. */
export const MAX_SYNTAX_PROBLEMS = 10;

/** From one offset to the next. */
export type Span = readonly [start: number, end: number];

/** A parsed text; the problems are duplicate keys. */
export function readable(contents: Node, problems: readonly SyntaxProblem[] = []): ParsedText {
  const document = new Document();
  document.contents = contents;
  return { document, problems, warnings: [], isReadable: true };
}

/** A text that could not be parsed. */
export function unreadable(problems: readonly SyntaxProblem[]): ParsedText {
  return { document: new Document(), problems, warnings: [], isReadable: false };
}

/** A string, number, boolean or null. */
export function scalarAt(value: unknown, span: Span): Scalar {
  return at(new Scalar(value), span);
}

/** A map without members. */
export function mapAt(span: Span): YAMLMap {
  return at(new YAMLMap(), span);
}

/** A list without members. */
export function listAt(span: Span): YAMLSeq {
  return at(new YAMLSeq(), span);
}

/** A member of a map. */
export function member(key: Scalar, value: Node): Pair {
  return new Pair(key, value);
}

/** The message about a duplicate key. */
export function twice(key: string): string {
  return `the key ${key === '' ? '' : `"${key}" `}is in this map twice: remove one`;
}

/** Tells a line counter where the lines of a text start. */
export function countLines(lines: LineCounter, text: string): void {
  lines.addNewLine(0);
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) {
    lines.addNewLine(end + 1);
  }
}

function at<N extends Node>(node: N, [start, end]: Span): N {
  node.range = [start, end, end];
  return node;
}
