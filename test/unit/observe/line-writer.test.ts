/** Lines get to their descriptor whole, in order and once, however slowly it takes them. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AuditLog } from '../../../src/observe/audit.ts';
import { LineWriter } from '../../../src/observe/line-writer.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const line = (index: number): string => `${index} ${'é'.repeat(index % 500)}\n`;

it('a pipe gets the rest of a line when it was read', async () => {
  const path = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const failed: unknown[] = [];
  const writer = new LineWriter({
    target: () => fd,
    wrote: () => undefined,
    failed: (error) => failed.push(error),
  });
  const lines = Array.from({ length: 1_000 }, (_, index) => line(index));
  for (const text of lines) expect(writer.push(text)).toBe(true);
  const read: Buffer[] = [];
  const chunk = Buffer.alloc(1_000);
  await until(() => {
    for (let more = true; more; ) {
      try {
        const length = readSync(fd, chunk);
        read.push(Buffer.from(chunk.subarray(0, length)));
      } catch {
        more = false;
      }
    }
    return writer.waiting === 0;
  });
  closeSync(fd);
  expect(Buffer.concat(read).toString('utf8')).toBe(lines.join(''));
  expect(failed).toEqual([]);
});

it('a process that ends at once writes what waits, once', async () => {
  const file = join(tempDir(), 'lines');
  const fd = openSync(file, 'a');
  const writer = new LineWriter({
    target: () => fd,
    wrote: () => undefined,
    failed: () => undefined,
  });
  for (let index = 0; index < 3; index++) writer.push(line(index));
  // The first one is with the system.
  writer.flush();
  await writer.finish(10_000);
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((text) => text !== '');
  expect(lines.toSorted()).toEqual([0, 1, 2].map((index) => line(index).slice(0, -1)));
  closeSync(fd);
});

it('what does not fit into the memory for waiting lines is lost, and so is what is left at the end', async () => {
  const metrics = new Metrics({ version: '0', node: '0' });
  const logger = createLogger({ level: 'fatal', messages: false });
  const audit = new AuditLog('/dev/full', { metrics, logger, isRequired: false });
  const name = 'x'.repeat(256);
  const sent = 10_000;
  for (let count = 0; count < sent; count++) {
    const principal = { key: 'k', name };
    audit.session('session_opened', { principal, endpoint: name, transport: name });
  }
  const { waiting } = audit;
  expect(waiting).toBeGreaterThan(1_000);
  const lost = async (): Promise<Record<string, number>> => {
    const { values } = await metrics.auditLost.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]));
  };
  // The first line says that the log is on.
  expect(await lost()).toEqual({ full: sent + 1 - waiting });
  await audit.close();
  expect(await lost()).toEqual({ full: sent + 1 - waiting, error: waiting });
});
