// URIs in what servers send, at the price of reading it a few times at most.
import { expect, test, vi } from 'vitest';
import { onNextTurn } from '../../../src/base/turns.ts';
import { exposeInTurns, exposePage, exposeResult } from '../../../src/catalog/resource-texts.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { within } from '../../../src/jsonrpc/text-steps.ts';
import { TextWalk, viewOf } from '../../../src/jsonrpc/text-walk.ts';
import { scannedBytes } from '../../support/scanned-bytes.ts';

vi.mock('../../../src/jsonrpc/json-text.ts', async (original) => {
  const { counting } = await import('../../support/scanned-bytes.ts');
  return counting(original);
});

const expose = (uri: string): string => `a+${uri}`;
const link = (uri: string) => ({ type: 'resource_link', name: 'n', uri });
const serverRequest = (uri: string) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: link(uri) }], maxTokens: 1 },
});

function exposed(result: object): { text: unknown; passes: number } {
  const before = Buffer.from(JSON.stringify(result));
  let after: Buffer = before;
  const scanned = scannedBytes(() => {
    after = exposeResult('tools/call', before, expose);
  });
  return { text: JSON.parse(after.toString()), passes: scanned / before.length };
}

test('each server request of a result is read as often as if it were the only one', () => {
  const asking = (count: number, prefix = '') => ({
    resultType: 'input_required',
    inputRequests: Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`k${i}`, serverRequest(`${prefix}x:${i}`)]),
    ),
  });
  const one = exposed(asking(1));
  const many = exposed(asking(500));
  expect(one.text).toEqual(asking(1, 'a+'));
  expect(many.text).toEqual(asking(500, 'a+'));
  expect(many.passes).toBeLessThan(one.passes + 2);
});

test('the result of a tool in a result of a tool is not looked into', () => {
  const nested = (levels: number, uri: string): object =>
    levels === 0
      ? link(uri)
      : { type: 'tool_result', toolUseId: 't', content: [nested(levels - 1, uri)] };
  const result = (levels: number, uri: string) => ({ content: [nested(levels, uri)] });
  expect(exposed(result(1, 'x:1')).text).toEqual(result(1, 'a+x:1'));
  const deep = exposed(result(80, 'x:1'));
  expect(deep.text).toEqual(result(80, 'x:1'));
  expect(deep.passes).toBeLessThan(10);
});

test('the page of an app is named alike wherever a server names it', () => {
  const meta = (uri: string) => ({
    ui: { resourceUri: uri, visibility: ['app'] },
    'ui/resourceUri': uri,
    'openai/outputTemplate': uri,
    other: uri,
  });
  const tool = (uri: string) => ({ name: 't', _meta: { ...meta(uri), other: 'ui://page' } });
  const text = Buffer.from(JSON.stringify(tool('ui://page')));
  expect(JSON.parse(exposePage(text, expose).toString())).toEqual(tool('a+ui://page'));
  const result = (uri: string) => ({ content: [], _meta: { ui: { resourceUri: uri } } });
  expect(exposed(result('ui://page')).text).toEqual(result('a+ui://page'));
});

test('what names no page is the same object', () => {
  const text = Buffer.from('{"name":"t","_meta":{"ui":{"visibility":[]}},"d":"resourceUri"}');
  expect(exposePage(text, expose)).toBe(text);
});

test('a large result is worked on in several turns, and a small one at once', async () => {
  const content = (count: number, prefix = '') => ({
    content: Array.from({ length: count }, (_, at) => link(`${prefix}x:${at}`)),
  });
  const small = Buffer.from(JSON.stringify(content(10)));
  expect(JSON.parse(String(exposeInTurns('tools/call', small, expose)))).toEqual(content(10, 'a+'));
  const large = Buffer.from(JSON.stringify(content(20_000)));
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) onNextTurn(turn);
  };
  onNextTurn(turn);
  const exposed = await exposeInTurns('tools/call', large, expose);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(JSON.parse(String(exposed))).toEqual(content(20_000, 'a+'));
});

test('nothing is made of blocks that can have no URI', async () => {
  const empties = '{ } ,'.repeat(300_000);
  const text = `{"content":[${empties}{"type":"resource_link","uri":"x:1"}, {}]}`;
  const subarrays = vi.spyOn(Buffer.prototype, 'subarray');
  const exposed = await exposeInTurns('tools/call', Buffer.from(text), expose);
  expect(subarrays.mock.calls.length).toBeLessThan(100);
  subarrays.mockRestore();
  expect(String(exposed)).toBe(text.replace('x:1', 'a+x:1'));
});

test('a large result that was walked over is not scanned again', () => {
  const content = (uri: string) => [
    { type: 'text', text: 'a'.repeat(2_000_000) },
    { type: 'resource', resource: { blob: 'b'.repeat(2_000_000), uri } },
    link(uri),
  ];
  const result = (uri: string) => ({ content: content(uri), structuredContent: content('x:2') });
  const text = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: result('x:1') }));
  const walk = new TextWalk(text);
  while (!walk.step());
  const { bytes, resultStart, resultEnd } = scan(text);
  const view = viewOf(bytes, resultStart, resultEnd);
  let after = view;
  const scanned = scannedBytes(() => {
    after = exposeResult('tools/call', view, expose);
  });
  expect(scanned).toBeLessThan(10_000);
  expect(JSON.parse(String(after))).toEqual(result('a+x:1'));
});

test('many members are looked through in small steps', () => {
  const text = Buffer.from(`{${'"k":1,'.repeat(200_000)}"content":[1]}`);
  // biome-ignore lint/correctness/useYield: nothing here takes long
  const steps = within(text, 'content', function* () {
    return Buffer.from('[]');
  });
  let count = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count++;
  expect(count).toBeGreaterThan(text.length / (64 * 1024));
  expect(String(step.value)).toBe(String(text).replace('[1]', '[]'));
});
