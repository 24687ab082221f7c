// Tools as modern clients see them: wrong annotations are taken out at the price of reading the tool.
import { expect, test, vi } from 'vitest';
import { modernTool } from '../../../src/translate/tool-lists.ts';
import { scannedBytes } from '../../support/scanned-bytes.ts';

vi.mock('../../../src/jsonrpc/json-text.ts', async (original) => {
  const { counting } = await import('../../support/scanned-bytes.ts');
  return counting(original);
});

test('a wrong annotation at the root and one very deep take a few passes', () => {
  const levels = 200;
  const text = `{"name":"a","inputSchema":{"x-mcp-header":"A","type":"object","a":${'{"a":'.repeat(levels)}{"x-mcp-header":1,"p":"${'x'.repeat(20_000)}"}${'}'.repeat(levels)}}}`;
  const tool = Buffer.from(text);
  let shown: Buffer = tool;
  const scanned = scannedBytes(() => {
    shown = modernTool(tool);
  });
  const cut = text.replace('"x-mcp-header":"A",', '').replace('"x-mcp-header":1,', '');
  expect(JSON.parse(shown.toString())).toEqual(JSON.parse(cut));
  expect(scanned).toBeLessThan(5 * tool.length);
});
