/** A process that ends: its exit status and what it said last are known before its owner is told. */
import { expect, it, onTestFinished } from 'vitest';
import { TurnQuota } from '../../src/base/turns.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { ChildProcess } from '../../src/upstream/stdio/child-process.ts';
import { StderrLog } from '../../src/upstream/stdio/stderr-log.ts';
import { until } from '../support/until.ts';

const SAYS = 'echo "DATABASE_URL is not set" >&2';

/** Runs a shell script. @returns how it ended, and its last stderr line at that time */
function run(script: string) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const stderr = new StderrLog(createLogger({ level: 'fatal', messages: false }));
  const child = new ChildProcess(
    {
      command: '/bin/sh',
      args: ['-c', script],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
      stopMs: 1_000,
      stallMs: 60_000,
    },
    {
      stdout: { push: () => true, goOn: () => true },
      stderr,
      drained: () => undefined,
      ended: (reason) => resolve(`${reason}: ${stderr.lastLine}`),
      waits: () => undefined,
      unwatched: () => undefined,
    },
    new TurnQuota(1_000_000),
  );
  onTestFinished(() => child.stop());
  return { child, end: promise };
}

it('also when writing to it failed before', async () => {
  const { child, end } = run(`exec 0<&-; sleep 0.2; ${SAYS}; exit 3`);
  // Whoever writes finds the pipe closed long before the process has said why.
  await until(() => {
    child.write(Buffer.from('{}'), Buffer.from('\n'));
    return !child.isWritable;
  });
  expect(await end).toBe('exit_3: DATABASE_URL is not set');
});

it('also when its output was closed before', async () => {
  const { end } = run(`exec 1>&-; sleep 0.2; ${SAYS}; exit 4`);
  expect(await end).toBe('exit_4: DATABASE_URL is not set');
});

it('also when the gateway was busy while it ended', async () => {
  const { end } = run(`${SAYS}; exit 5`);
  // Longer than the rest of the output is waited for.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  expect(await end).toBe('exit_5: DATABASE_URL is not set');
});

it('a process that closes its input and goes on is told as such', async () => {
  const { child, end } = run(`exec 0<&-; ${SAYS}; sleep 60`);
  await until(() => {
    child.write(Buffer.from('{}'), Buffer.from('\n'));
    return !child.isWritable;
  });
  expect(await end).toBe('stdin_closed: DATABASE_URL is not set');
});

it('nobody waits for what it started and left behind', async () => {
  const { end } = run(`${SAYS}; sleep 60 & exit 6`);
  expect(await end).toBe('exit_6: DATABASE_URL is not set');
});
