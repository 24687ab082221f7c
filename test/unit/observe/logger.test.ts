// What never reaches the log, however it got into a line.
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const LOGGER = new URL('../../../src/observe/logger.ts', import.meta.url).href;

it('H02 credentials in the fields of a line are masked', () => {
  const program = `
    const { createLogger } = await import('${LOGGER}');
    const logger = createLogger({ level: 'trace', messages: false });
    const headers = { authorization: 'canary-1', 'x-api-key': 'canary-2', cookie: 'canary-3' };
    logger.info({ headers }, 'a');
    logger.info({ request: { headers } }, 'b');
    logger.error({ err: Object.assign(new Error('x'), { headers }) }, 'c');
  `;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  const text = stderr.toString();
  expect(text).toContain('"msg":"c"');
  expect(text).not.toContain('canary');
});

/** The lines of a logger of this level that logs three times. */
function linesAt(level: string): Record<string, unknown>[] {
  const program = `
    const { createLogger } = await import('${LOGGER}');
    const logger = createLogger({ level: '${level}', messages: false }).child({ server: 's' });
    logger.warn({ reason: 'r'.repeat(1e6), tools: ['t'.repeat(1e6)], backoffMs: 5 }, 'a');
    logger.error({ err: new Error('e') }, 'b');
    logger.info('c %s', 'd');
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    maxBuffer: 10_000_000,
  });
  const lines = run.stderr.toString().trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

it('what others chose is cut in the lines that everybody has', () => {
  const [first, second, third] = linesAt('debug');
  expect(first).toMatchObject({
    server: 's',
    reason: `${'r'.repeat(500)}... (1000000 characters)`,
    tools: [`${'t'.repeat(500)}... (1000000 characters)`],
    backoffMs: 5,
  });
  expect(second).toMatchObject({ msg: 'b', err: { message: 'e' } });
  expect(third).toMatchObject({ msg: 'c d' });
});

it('at level trace nothing is cut', () => {
  expect(String(linesAt('trace')[0]?.['reason']).length).toBe(1_000_000);
});
