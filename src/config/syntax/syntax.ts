// Which syntax a file has.
import type { LineCounter } from 'yaml';
import { parseJson } from './json.ts';
import { countLines, type ParsedText } from './parsed-text.ts';
import { parseToml } from './toml.ts';
import { parseYaml } from './yaml.ts';

/** `{` as the first thing that is no comment. */
const STARTS_AS_JSON = /^(?:\s|\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*\{/;

/**
 * Reads a text in the syntax that the name of its file says; else as JSON when it starts with `{`, and
 * as YAML otherwise. Reading JSON with comments as YAML would take comments for values.
 *
 * @param lines is told where lines start
 * @throws RangeError when the nesting is deeper than the stack
 */
export function parseText(file: string, text: string, lines: LineCounter): ParsedText {
  if (/\.toml$/i.test(file)) {
    countLines(lines, text);
    return parseToml(text);
  }
  const isNamedJson = /\.jsonc?$/i.test(file);
  if (isNamedJson || STARTS_AS_JSON.test(text)) {
    countLines(lines, text);
    return parseJson(text, isNamedJson);
  }
  return parseYaml(text, lines);
}
