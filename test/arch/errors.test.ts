// Errors have one home: codes and sentences in mcp/errors and mcp/failures, what HTTP adds in
// listener/error-response, what JSON-RPC says itself in jsonrpc. docs/errors.md lists what is there.
import { describe, expect, test } from 'vitest';
import { FAILURE_REASONS } from '../../src/base/errors.ts';
import { REFUSALS } from '../../src/listener/error-response.ts';
import { readRootFile, type SourceFile, sourceFiles } from './sources.ts';

const files = sourceFiles();
const HOMES = /^mcp\/(errors|failures)|^listener\/error-response|^jsonrpc\/(error|faults)\.ts/;
/** A text with a space, to its full stop. */
const SENTENCE = /'([^'\n]* [^'\n]*\.)'|"([^"\n]* [^"\n]*\.)"|`([^`]* [^`]*\.)`/g;

const outside = files.filter(({ path }) => !HOMES.test(path));
const sentencesIn = ({ code }: SourceFile): string[] =>
  [...code.matchAll(SENTENCE)].map(([, one, two, three]) => one ?? two ?? three ?? '');
const linesOf = (pattern: RegExp): string[] =>
  outside.flatMap(({ path, code }) =>
    code.split('\n').flatMap((line) => (pattern.test(line) ? [`${path}: ${line.trim()}`] : [])),
  );

/** The cells of one column of a table of docs/errors.md. */
function columnOf(heading: string): string[] {
  const page = readRootFile('docs/errors.md');
  const table = page.slice(page.indexOf(`| ${heading} |`)).split('\n\n')[0] ?? '';
  const rows = table.trim().split('\n').slice(2);
  return rows.flatMap((row) => (row.split('|')[1] ?? '').replaceAll('`', '').split(','));
}

describe('an error', () => {
  test('has its code in the tables', () => {
    expect(linesOf(/-32_?\d{3}\b/)).toEqual([]);
  });

  test('has its sentence in the tables', () => {
    expect(linesOf(/code: [A-Z_]+,?\s+message: ['"`]/)).toEqual([]);
    expect(linesOf(/^\s*message: ['"`]/)).toEqual([]);
  });

  test('of the gateway is made in mcp/failures, or of what nobody expected', () => {
    const makers = outside.filter(({ code }) => code.includes('new GatewayError('));
    expect(makers.map(({ path }) => path)).toEqual(['base/errors.ts']);
  });

  test('says nothing that another one says', () => {
    const tables = files.filter(({ path }) => HOMES.test(path)).flatMap(sentencesIn);
    const others = new Set(outside.flatMap(sentencesIn));
    expect(tables.length).toBeGreaterThan(80);
    expect(tables.filter((text, at) => tables.indexOf(text) !== at)).toEqual([]);
    expect(tables.filter((text) => others.has(text))).toEqual([]);
  });
});

describe('docs/errors.md', () => {
  test('has a row for each reason', () => {
    expect(columnOf('reason').map((cell) => cell.trim())).toEqual([...FAILURE_REASONS]);
  });

  test('has each HTTP status that the listener answers with', () => {
    const statuses = new Set(Object.values(REFUSALS).map(({ status }) => status));
    const listed = columnOf('status').map(Number);
    expect(listed.toSorted()).toEqual([...statuses].toSorted());
  });
});
