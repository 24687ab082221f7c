/** A line of the audit log is of bounded length, whatever a client calls. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AuditLog } from '../../../src/observe/audit.ts';
import { createLogger } from '../../../src/observe/logger.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('names, methods and targets are cut', async () => {
  const file = join(tempDir(), 'audit.jsonl');
  const metrics = new Metrics({ version: '0', node: '0' });
  const logger = createLogger({ level: 'fatal', messages: false });
  const audit = new AuditLog(file, { metrics, logger, isRequired: false });
  const long = 'x'.repeat(100_000);
  audit.call({
    principal: { key: 'k', name: long },
    endpoint: '/mcp',
    server: 's',
    method: long,
    target: long,
    outcome: 'ok',
    durationMs: 1,
    requestBytes: 1,
    responseBytes: 1,
  });
  await audit.close();
  const last = readFileSync(file, 'utf8').trim().split('\n').at(-1) ?? '';
  const cut = 'x'.repeat(256);
  expect(JSON.parse(last)).toMatchObject({ principal: cut, method: cut, target: cut });
  expect(last.length).toBeLessThan(1_500);
});
