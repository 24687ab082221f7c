// Which syntax a file has.
import type { LineCounter } from 'yaml';
import { parseJson } from './json.ts';
import { countLines, type ParsedText } from './parsed-text.ts';
import { parseToml } from './toml.ts';
import { parseYaml } from './yaml.ts';

/** `{` after nothing but comments and white space. */
const STARTS_AS_JSON = /^(?:\s|\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*\{/;

/**
 * Parses a text in the syntax of its file name; otherwise as JSON if it begins with `{`, else as YAML.
 * Parsing JSON with comments as YAML would take comments for values.
 * @param lines gets the starts of lines
 * @throws RangeError if the nesting is deeper than the stack
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
