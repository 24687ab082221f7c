// Shows differences between tools to the person who accepts them: line by line, with invisible characters
// made visible, because instructions to a model may be hidden in them.
import { visibleString } from './canonical-json.ts';
import type { Comparison, ToolChange } from './comparison.ts';
import type { Definition } from './definition.ts';

/** With more pairs of lines, all old lines are shown, then all new ones. */
const MAX_COMPARED = 4_000_000;
const ESCAPE = /\\(?:u([0-9a-f]{4})|.)/g;
const LINE_FEED = '\\n';
const TAG_START = 0xe0020;
const TAG_END = 0xe007e;
const TAG_BASE = 0xe0000;

/**
 * The differences of one server.
 * @returns lines, each with its line feed
 */
export function comparisonReport(server: string, comparison: Comparison): string {
  const { changes, unchanged, twice, unshown } = comparison;
  const count = (what: (change: ToolChange) => boolean): number => changes.filter(what).length;
  const parts = [
    `${count(({ before }) => before === undefined)} new`,
    `${count(({ before, after }) => before !== undefined && after !== undefined)} changed`,
    `${count(({ after }) => after === undefined)} removed`,
    `${unchanged} as accepted`,
  ];
  const lines = [`${server}: ${parts.join(', ')}`, ...changes.flatMap(changeLines)];
  for (const name of twice) {
    lines.push(
      `  ! ${plain(name)} is listed twice, with different definitions: the first one counts`,
    );
  }
  for (const name of unshown) {
    lines.push(`  ! ${plain(name)} can't be accepted: its definition is too large to look at`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

function changeLines({ name, before, after }: ToolChange): string[] {
  if (after === undefined) return [`  removed ${plain(name)}`];
  const warning = hiddenText(after);
  const warnings = warning === undefined ? [] : [`      ! ${warning}`];
  const head = before === undefined ? 'new' : 'changed';
  const body = difference(before === undefined ? [] : linesOf(before), linesOf(after));
  return [`  ${head} ${plain(name)}`, ...warnings, ...body.map((line) => `      ${line}`)];
}

/** Makes foreign text harmless for a terminal: everything in it is shown, and has no effect. */
export function plain(text: string): string {
  return visibleString(text).slice(1, -1);
}

/** The lines of a definition. Long texts are split at their own line breaks. */
function linesOf({ text }: Definition): string[] {
  return text.split('\n').flatMap((line) => {
    const indent = `${/^ */.exec(line)?.[0] ?? ''}  `;
    const pieces = line.replace(ESCAPE, (e) => (e === LINE_FEED ? `${e}\n` : e)).split('\n');
    return pieces.map((piece, i) => (i === 0 ? piece : indent + piece));
  });
}

/** The lines of both, marked with `-`, `+` or a space: a longest common subsequence. */
function difference(before: readonly string[], after: readonly string[]): string[] {
  const minus = (line: string): string => `- ${line}`;
  const plus = (line: string): string => `+ ${line}`;
  if (before.length * after.length > MAX_COMPARED)
    return [...before.map(minus), ...after.map(plus)];
  const lengths = commonLengths(before, after);
  const width = after.length + 1;
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const left = before[i];
    const right = after[j];
    if (left !== undefined && left === right) {
      lines.push(`  ${left}`);
      i++;
      j++;
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(minus(left));
      i++;
    } else if (right !== undefined) {
      lines.push(plus(right));
      j++;
    }
  }
  return lines;
}

/** For each pair of line numbers, the length of the longest common subsequence of the rest. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const skip = Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
      const both = (lengths[(i + 1) * width + j + 1] ?? 0) + 1;
      lengths[i * width + j] = before[i] === after[j] ? both : skip;
    }
  }
  return lengths;
}

/** Text that is hidden in a definition; undefined if there is none. */
function hiddenText({ text }: Definition): string | undefined {
  const units = [...text.matchAll(ESCAPE)].flatMap(([, hex]) =>
    hex === undefined ? [] : [Number.parseInt(hex, 16)],
  );
  const characters = [...units.map((unit) => String.fromCharCode(unit)).join('')];
  if (characters.length === 0) return undefined;
  const tags = characters
    .map((character) => character.codePointAt(0) ?? 0)
    .filter((code) => code >= TAG_START && code <= TAG_END)
    .map((code) => String.fromCharCode(code - TAG_BASE))
    .join('');
  const spelled = tags === '' ? '' : `; as tags they spell ${visibleString(tags)}`;
  return `characters that can't be seen, written as \\uXXXX: ${characters.length}${spelled}`;
}
