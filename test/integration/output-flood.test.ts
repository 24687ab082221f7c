/** A server that writes without end: it is stopped, and another server's calls hardly notice. */
import { expect, it } from 'vitest';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { textOf } from '../support/wire-message.ts';

const FLOOD = `
  const lines = Buffer.alloc(65536, '\\n');
  process.stdout.on('error', () => process.exit());
  const write = () => {
    while (process.stdout.write(lines));
    process.stdout.once('drain', write);
  };
  write();
`;

const beside = scriptedServer();
const harness = useGateway(() => ({
  servers: {
    one: { command: process.execPath, args: ['-e', FLOOD], start: 'lazy', era: 'legacy' },
    other: beside.config,
  },
}));

it('nothing but empty lines: calls of others go on, and it is restarted for it', async () => {
  const session = await harness.session({ server: 'other' });
  const refused = harness.session({ server: 'one' }).catch(() => undefined);
  const isStopped = async (): Promise<boolean> => {
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    const labels = { server: 'one', reason: 'output_flood' };
    return metricSum(samples, 'sluice_server_restarts_total', labels) > 0;
  };
  let calls = 0;
  await until(
    async () => {
      expect(textOf(await session.call('echo', {}))).toBe('{}');
      calls++;
      return await isStopped();
    },
    { timeoutMs: 50_000 },
  );
  expect(calls).toBeGreaterThan(50);
  await refused;
});
