// What every syntax is read into: a tree that knows where each of its nodes stands.
import { Document, type LineCounter, type Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';

/** Something that a parser said about a place. */
export interface SyntaxProblem {
  readonly offset: number;
  readonly message: string;
}

/** A text that was read. JSON and TOML make the nodes of the YAML package, so one walk serves all. */
export interface ParsedText {
  readonly document: Document;
  readonly problems: readonly SyntaxProblem[];
  readonly warnings: readonly SyntaxProblem[];
  /** False when there is no tree to look at. */
  readonly isReadable: boolean;
}

/** One after the other follows from the first; more than these don't help. */
export const MAX_SYNTAX_PROBLEMS = 10;

/** From one offset to the next. */
export type Span = readonly [start: number, end: number];

/** A text that could be read; problems are keys that stand twice. */
export function readable(contents: Node, problems: readonly SyntaxProblem[] = []): ParsedText {
  const document = new Document();
  document.contents = contents;
  return { document, problems, warnings: [], isReadable: true };
}

/** A text that has no tree. */
export function unreadable(problems: readonly SyntaxProblem[]): ParsedText {
  return { document: new Document(), problems, warnings: [], isReadable: false };
}

/** A text, number, boolean or nothing. */
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

/** The words about a key that stands twice. */
export function twice(key: string): string {
  return `the key ${key === '' ? '' : `"${key}" `}is in this map twice: remove one`;
}

/** Tells a counter where the lines of a text start. */
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
