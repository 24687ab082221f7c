/** B12: sessions that clients open and never come back to are ended, and nothing is left of them. */
import { expect, it } from 'vitest';
import { post } from '../support/http-client.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';

const SESSIONS = 3_000;
const AT_ONCE = 50;
const { rig, journal } = useScripted(scriptedServer(), { config: { sessions: { idle: '3s' } } });

it('thousands of abandoned sessions are ended; those in use are not, nor is their server (B12)', async () => {
  const open = async (): Promise<number> =>
    metricSum(await fetchMetrics(rig.gateway.adminUrl), 'sluice_sessions');
  const kept = await rig.session();
  const statuses = new Set<number>();
  let most = 0;
  for (let at = 0; at < SESSIONS; at += AT_ONCE) {
    const heads = Array.from({ length: AT_ONCE }, () => post(rig.url(), initializeRequest()).head);
    for (const { status } of await Promise.all(heads)) statuses.add(status);
    expect(await kept.call('echo', {})).toHaveProperty('result');
    most = Math.max(most, await open());
  }
  expect([...statuses]).toEqual([200]);
  expect(most).toBeGreaterThan(AT_ONCE);
  await until(async () => {
    expect(await kept.call('echo', {})).toHaveProperty('result');
    return (await open()) === 1;
  });
  expect(journal.starts).toHaveLength(1);
});
