/**
 * What somebody does first with a fresh clone: `npm start`, then the README's first calls.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { descendants, waitGone } from '../support/processes.ts';
import { ROOT } from '../support/root.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { firstCallBlocks, runInBash } from './readme-blocks.ts';
import { SHIPPED_NAMES, shippedServers } from './shipped-servers.ts';

/** What config/sluice.yaml listens on, by default. */
const PUBLIC_PORT = 8080;
const ADMIN_PORT = 9464;

const blocks = firstCallBlocks();

/** Runs a block on a gateway at `port` and compares with what the README shows. */
async function expectAsPrinted({ commands, output }: (typeof blocks)[number], port: number) {
  const printed = await runInBash(commands.replaceAll(`:${PUBLIC_PORT}`, `:${port}`));
  expect(printed).not.toBe('');
  if (output !== undefined) expect(JSON.parse(printed)).toEqual(JSON.parse(output));
}

it('the README has a first call', () => {
  expect(blocks.length).toBeGreaterThan(0);
  for (const { commands } of blocks) expect(commands).toContain(`http://127.0.0.1:${PUBLIC_PORT}/`);
});

describe('the servers of config/sluice.yaml', () => {
  it.each(blocks)("answer the README's first call %# as it says", async (block) => {
    const gateway = await startGateway(shippedServers());
    try {
      await expectAsPrinted(block, Number(new URL(gateway.url).port));
    } finally {
      expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    }
  });
});

async function isBusy(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('npm start', () => {
  let running: ChildProcess | undefined;

  afterEach(async () => {
    const pid = running?.pid;
    if (running === undefined || pid === undefined) return;
    const pids = descendants(pid).map((info) => info.pid);
    const exit = once(running, 'exit');
    // npm's group, as Ctrl-C in a terminal reaches it.
    if (running.exitCode === null) {
      process.kill(-pid, 'SIGINT');
      await exit;
    }
    running = undefined;
    await waitGone(pids);
  });

  it('serves config/sluice.yaml on the default ports, and the README is right', async (context) => {
    for (const port of [PUBLIC_PORT, ADMIN_PORT]) {
      const note = `port ${port} of the shipped configuration is in use by another program`;
      if (!(await isBusy(port))) continue;
      if (process.env['CI'] === 'true') throw new Error(note);
      context.skip(note);
    }
    // Without `prestart`, which would install dependencies under the feet of the other tests.
    running = spawn('npm', ['start', '--ignore-scripts'], {
      cwd: ROOT,
      detached: true,
      env: { ...process.env, TMPDIR: tempDir() },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    running.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    await until(() => log.includes('"msg":"ready"') || running?.exitCode !== null, {
      what: 'npm start to be ready',
      timeoutMs: 50_000,
    });
    expect(log).toContain('"msg":"ready"');
    const samples = await fetchMetrics(`http://127.0.0.1:${ADMIN_PORT}`);
    for (const server of SHIPPED_NAMES) {
      expect(metricSum(samples, 'sluice_server_up', { server })).toBe(1);
    }
    for (const block of blocks) await expectAsPrinted(block, PUBLIC_PORT);
  });
});
