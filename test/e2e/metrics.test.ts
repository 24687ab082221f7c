/**
 * The text at /metrics after traffic of every kind: clean for promtool, and complete (docs/metrics.md).
 */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { send } from '../support/http-client.ts';
import { fetchMetricsText, parseMetrics } from '../support/metrics.ts';
import { useGateway } from '../support/use-gateway.ts';
import { connectV1 } from './sdk-v1.ts';
import { shippedServers } from './shipped-servers.ts';
import { openWorkstations } from './workstations.ts';

const harness = useGateway(shippedServers);

async function makeTraffic(): Promise<void> {
  const desks = await openWorkstations(
    harness,
    connectV1,
    ['streamable-http', 'sse', 'websocket'],
    3,
  );
  for (const { secret, at } of desks) {
    await at.everything.listTools();
    await at.everything.call('trigger-sampling-request', { prompt: secret });
    await at.everything.subscribe('demo://resource/dynamic/text/1');
    await at.files.call('read_text_file', { path: 'no "such"\nfile\\' });
    await at.memory.call(`no-such-tool-${secret}`).catch(() => undefined);
  }
  await send(`${harness.gateway.url}/servers/no-such-server/mcp`);
  await send(`${harness.gateway.url}/no/such/path`, { headers: { origin: 'http://evil.example' } });
}

it('promtool finds nothing to complain about', async (context) => {
  const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
  if (!hasPromtool) {
    const note = 'promtool is not installed (package prometheus of Debian)';
    if (process.env['CI'] === 'true') throw new Error(note);
    context.skip(note);
  }
  await makeTraffic();
  const input = await fetchMetricsText(harness.gateway.adminUrl);
  const checked = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
  expect(checked.stdout + checked.stderr).toBe('');
  expect(checked.status).toBe(0);
});

it('every metric of the design is there, and no label holds what a client chose', async () => {
  await makeTraffic();
  const text = await fetchMetricsText(harness.gateway.adminUrl);
  for (const name of EXPECTED) expect(text).toContain(`# TYPE sluice_${name} `);
  expect(text).toContain('# TYPE process_cpu_seconds_total ');
  const labels = parseMetrics(text).flatMap((sample) => Object.values(sample.labels));
  const all = labels.join('\n');
  for (const chosen of ['secret-of', 'no-such', 'demo://', 'evil.example', '/no/such/path']) {
    expect(all).not.toContain(chosen);
  }
});

/** docs/metrics.md, except `auth_total` and `config_reloads_total`, whose features come later. */
const EXPECTED = [
  'requests_total',
  'request_duration_seconds',
  'requests_in_flight',
  'queue_depth',
  'held_bytes',
  'held_bytes_limit',
  'held_bytes_cut_total',
  'sessions',
  'streams',
  'server_up',
  'server_instances',
  'server_restarts_total',
  'server_start_seconds',
  'messages_total',
  'bytes_total',
  'notifications_withheld_total',
  'server_requests_total',
  'slow_consumers_total',
  'build_info',
];
