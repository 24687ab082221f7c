// YAML 1.2.
import { type LineCounter, parseDocument } from 'yaml';
import { MAX_SYNTAX_PROBLEMS, type ParsedText, twice } from './parsed-text.ts';

/** Parses YAML. */
export function parseYaml(text: string, lineCounter: LineCounter): ParsedText {
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    // Its warnings would be printed by the process. Code that reads the tree refuses maps as keys.
    logLevel: 'error',
    schema: 'core',
    version: '1.2',
  });
  return {
    document,
    problems: document.errors.slice(0, MAX_SYNTAX_PROBLEMS).map((error) => ({
      offset: error.pos[0],
      message: explain(error, text),
    })),
    warnings: document.warnings.slice(0, MAX_SYNTAX_PROBLEMS).map((warning) => ({
      offset: warning.pos[0],
      message: lowerFirst(warning.message),
    })),
    // With a duplicate key the tree is complete, so the rest can be checked in the same run.
    isReadable: document.errors.every((error) => error.code === 'DUPLICATE_KEY'),
  };
}

function explain(
  error: { code: string; message: string; pos: [number, number] },
  text: string,
): string {
  if (error.code === 'DUPLICATE_KEY') {
    return twice(/^[\w$.-]*/.exec(text.slice(error.pos[0], error.pos[0] + 60))?.[0] ?? '');
  }
  const start = text.lastIndexOf('\n', error.pos[0] - 1) + 1;
  // Limited, because the pattern below tries each bracket of the line.
  const line = text.slice(start, start + 1000).split('\n', 1)[0];
  const hint = /[{,[][^"']*\$\{/.test(line ?? '')
    ? ' (inside { } and [ ] put "${...}" in quotes)'
    : '';
  return `is not valid YAML: ${lowerFirst(error.message)}${hint}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
