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
