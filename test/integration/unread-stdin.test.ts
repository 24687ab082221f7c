/** A child process that does not read, or reads slowly: what waits for it is bounded, and nothing is lost. */
import { expect, it, onTestFinished } from 'vitest';
import { TurnQuota } from '../../src/base/turns.ts';
import type { OutputConsumer } from '../../src/upstream/stdio/child-output.ts';
import { ChildProcess } from '../../src/upstream/stdio/child-process.ts';

const MIB = 1024 * 1024;
const LINE_FEED = Buffer.from('\n');
const NEVER_READS = 'setInterval(() => {}, 1000)';
/** Reads a piece now and then, and says at the end how much it was. */
const READS_SLOWLY = `
  let count = 0;
  const read = () => {
    const chunk = process.stdin.read(65536) ?? process.stdin.read();
    if (chunk !== null) count += chunk.length;
  };
  setInterval(read, 40);
  process.stdin.on('end', () => process.stdout.write(String(count), () => process.exit()));
`;
const COUNTS_LINES = `
  const hash = require('node:crypto').createHash('sha256');
  process.stdin.on('data', (chunk) => hash.update(chunk));
  process.stdin.on('end', () => process.stdout.write(hash.digest('hex'), () => process.exit()));
`;

const consumer = (take: (chunk: Buffer) => void): OutputConsumer => ({
  push: (chunk) => {
    take(chunk);
    return true;
  },
  goOn: () => true,
});

function start(code: string, stallMs: number) {
  const ended = Promise.withResolvers<string>();
  const counts = { drained: 0 };
  const said = Promise.withResolvers<string>();
  let nextDrain = Promise.withResolvers<void>();
  const child = new ChildProcess(
    {
      command: process.execPath,
      args: ['-e', code],
      env: {},
      cwd: process.cwd(),
      stopMs: 1_000,
      stallMs,
    },
    {
      stdout: consumer((chunk) => said.resolve(chunk.toString())),
      stderr: consumer(() => undefined),
      drained: () => {
        counts.drained++;
        nextDrain.resolve();
        nextDrain = Promise.withResolvers();
      },
      ended: ended.resolve,
      waits: () => undefined,
      unwatched: () => undefined,
    },
    new TurnQuota(MIB),
  );
  onTestFinished(() => child.stop());
  return {
    child,
    counts,
    ended: ended.promise,
    said: said.promise,
    drain: () => nextDrain.promise,
  };
}

it('takes no more calls than a small buffer and one message, also within one turn', () => {
  const { child } = start(NEVER_READS, 60_000);
  expect(child.isWritable).toBe(true);
  expect(child.write(Buffer.alloc(4 * MIB), LINE_FEED)).toBe(true);
  expect(child.isWritable).toBe(false);
  const other = start(NEVER_READS, 60_000).child;
  let taken = 0;
  while (other.isWritable) {
    other.write(Buffer.alloc(1_000), LINE_FEED);
    taken++;
  }
  expect(taken).toBeGreaterThan(64);
  expect(taken).toBeLessThan(300);
});

it('besides calls keeps a few MiB, then only what is short, then nothing', () => {
  const { child } = start(NEVER_READS, 60_000);
  child.write(Buffer.alloc(4 * MIB), LINE_FEED);
  const keep = (size: number): number => {
    let kept = 0;
    while (kept < 100_000 && child.write(Buffer.alloc(size), LINE_FEED)) kept++;
    return kept;
  };
  expect(keep(MIB)).toBeLessThan(16);
  const short = keep(100);
  // The cancels of all calls that may be at a server.
  expect(short).toBeGreaterThan(1_000);
  expect(short).toBeLessThan(20_000);
  expect(keep(MIB) + keep(100)).toBe(0);
});

it('a process that reads nothing of what waits for it is given up after a while', async () => {
  const { child, ended } = start(NEVER_READS, 300);
  child.write(Buffer.alloc(4 * MIB), LINE_FEED);
  expect(await ended).toBe('stdin_stalled');
});

it('a process that reads slowly is not, however long it takes', async () => {
  const { child, ended, said, drain } = start(READS_SLOWLY, 4_000);
  child.write(Buffer.alloc(8 * MIB), LINE_FEED);
  const first = await Promise.race([drain(), ended]);
  expect(first).toBeUndefined();
  expect(child.isWritable).toBe(true);
  const stop = child.stop();
  expect(await said).toBe(String(8 * MIB + 1));
  await stop;
});

it('what is written arrives whole and in order, large and small', async () => {
  const { createHash } = await import('node:crypto');
  const { child, said, drain } = start(COUNTS_LINES, 60_000);
  const hash = createHash('sha256');
  for (let turn = 0; turn < 20; turn++) {
    for (let at = 0; at < 10; at++) {
      const message = Buffer.alloc(at % 4 === 3 ? 40_000 + at : 10 + turn, 65 + at);
      hash.update(message).update(LINE_FEED);
      expect(child.write(message, LINE_FEED)).toBe(true);
    }
    const big = Buffer.alloc(300_000, 97 + turn);
    hash.update(big).update(LINE_FEED);
    const drained = drain();
    expect(child.write(big, LINE_FEED)).toBe(true);
    await drained;
  }
  void child.stop();
  expect(await said).toBe(hash.digest('hex'));
});
