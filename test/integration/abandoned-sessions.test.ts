/** B12: sessions that clients open and never come back to are ended, and nothing is left of them. */
import { describe, expect, it } from 'vitest';
import { post } from '../support/http-client.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useScripted } from '../support/use-gateway.ts';

const SESSIONS = 3_000;
const AT_ONCE = 50;
const { harness, journal } = useScripted(scriptedServer(), {
  config: { sessions: { idle: '8s' } },
});

it('thousands of abandoned sessions are ended; those in use are not, nor is their server (B12)', async () => {
  const open = async (): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_sessions');
  const kept = await harness.session();
  const statuses = new Set<number>();
  let most = 0;
  for (let at = 0; at < SESSIONS; at += AT_ONCE) {
    const heads = Array.from(
      { length: AT_ONCE },
      () => post(harness.url(), initializeRequest()).head,
    );
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

describe('at sessions.max', () => {
  const { harness: few } = useScripted(scriptedServer(), { config: { sessions: { max: 3 } } });

  it('a new session takes the place of the one that was unused for longest, not of one in use', async () => {
    const listening = await few.session();
    const stream = listening.openStream();
    expect((await stream.head).status).toBe(200);
    const first = await few.session();
    for (let at = 0; at < 10; at++) expect((await few.session()).sessionId).not.toBe('');
    expect((await first.begin('ping').exchange.head).status).toBe(404);
    expect(await listening.call('echo', {})).toHaveProperty('result');
  });

  it('a new session is refused while all are in use', async () => {
    const streams = [await few.session(), await few.session(), await few.session()].map((one) =>
      one.openStream(),
    );
    for (const { head } of streams) expect((await head).status).toBe(200);
    const refused = await post(few.url(), initializeRequest()).response();
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({ error: { data: { reason: 'overloaded' } } });
  });
});
