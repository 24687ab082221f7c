// Batches, which a server may make as long and as deep as it likes.
import { expect, test, vi } from 'vitest';
import { batchTexts } from '../../../src/jsonrpc/batch.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { Mux } from '../../../src/mux/mux.ts';
import type { MuxParts } from '../../../src/mux/mux-contract.ts';
import { Traffic } from '../../../src/observe/traffic.ts';
import { scannedBytes } from '../../support/scanned-bytes.ts';

vi.mock('../../../src/jsonrpc/json-text.ts', async (original) => {
  const { counting } = await import('../../support/scanned-bytes.ts');
  return counting(original);
});

const TIMEOUTS = { request: 1_000, requestMax: 1_000 };
const OPTIONS = { server: 's', protocol: 'mcp', timeouts: TIMEOUTS } as const;
const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';

/** What comes of a server's line, and how often it was walked over. */
function received(line: string) {
  const events = { notified: vi.fn(), violated: vi.fn() };
  const dropped = vi.fn();
  const traffic = new Traffic();
  const parts = { events, traffic, logger: { debug: dropped }, audience: {} };
  const mux = new Mux(OPTIONS, parts as unknown as MuxParts);
  const passes = scannedBytes(() => mux.receive(Buffer.from(line))) / line.length;
  return { ...events, dropped, traffic, passes };
}

const batchOf = (count: number, element: string): string =>
  `[${new Array(count).fill(element).join(',')}]`;

test('100 messages of one batch arrive, of 101 none does', () => {
  const full = received(batchOf(100, NOTE));
  expect(full.notified).toHaveBeenCalledTimes(100);
  expect(full.violated).not.toHaveBeenCalled();
  const over = received(batchOf(101, NOTE));
  expect(over.notified).not.toHaveBeenCalled();
  expect(over.violated).toHaveBeenCalledExactlyOnceWith('batch_too_long');
});

test('a batch of very many things costs no more than to see that it is one', () => {
  const { violated, dropped, traffic, passes } = received(batchOf(100_000, '1'));
  expect(violated).toHaveBeenCalledOnce();
  expect(dropped).not.toHaveBeenCalled();
  expect(traffic.noise).toBe(1);
  expect(passes).toBeLessThan(1.1);
});

test('a batch in a batch is no message, and nobody looks into it', () => {
  const depth = 200;
  const line = `${'['.repeat(depth)}"${'x'.repeat(10_000)}"${']'.repeat(depth)}`;
  const { dropped, traffic, passes } = received(line);
  expect(dropped).toHaveBeenCalledOnce();
  expect(dropped.mock.calls[0]?.[0]).toMatchObject({ what: 'array' });
  expect(traffic.noise).toBe(1);
  expect(traffic.receivedBytes).toBe(line.length);
  expect(passes).toBeLessThan(4);
});

test('of a batch that is too long nothing is split off', () => {
  expect(batchTexts(scan(Buffer.from(batchOf(100, '1'))))).toHaveLength(100);
  const long = scan(Buffer.from(batchOf(100_000, '1')));
  expect(scannedBytes(() => expect(batchTexts(long)).toBeUndefined())).toBeLessThan(200);
});
