/** A child process that does not read: what is written to it has a limit. */
import { expect, it } from 'vitest';
import { ChildProcess } from '../../src/backend/stdio/child-process.ts';

it('a process that leaves 64 MiB unread is given up', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const child = new ChildProcess(
    {
      command: process.execPath,
      args: ['-e', 'setInterval(() => {}, 1000)'],
      env: {},
      cwd: process.cwd(),
      stopMs: 1_000,
    },
    {
      stdout: () => undefined,
      stderr: () => undefined,
      drained: () => undefined,
      ended: resolve,
      unwatched: () => undefined,
    },
  );
  const chunk = Buffer.alloc(4 * 1024 * 1024);
  for (let at = 0; at < 17; at++) child.write(chunk);
  expect(await promise).toBe('stdin_stalled');
  await child.stop();
});
