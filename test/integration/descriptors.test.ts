/**
 * A process that may have few descriptors: its connections leave room for everything else, what needs one
 * and gets none fails with the reason, and all is well again when there are some.
 */
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { post } from '../support/http-client.ts';
import { initializeRequest } from '../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../support/metrics.ts';
import { waitGone } from '../support/processes.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { textOf } from '../support/wire-message.ts';

describe('many clients that connect and ask for nothing', () => {
  const one = scriptedServer();
  const harness = useGateway(() => ({
    startedBy: ['prlimit', '--nofile=64:64'],
    servers: { one: one.config },
  }));

  /** Connections that ask for nothing; one that is closed is made again. */
  function crowd(size: number): Socket[] {
    const { hostname, port } = new URL(harness.gateway.url);
    const sockets = Array.from({ length: size }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on('error', () => undefined);
    harness.track({
      close: () => {
        for (const socket of sockets) socket.destroy();
        return Promise.resolve();
      },
    });
    return sockets;
  }

  it('keep nobody out, nor a server from being started again', async () => {
    const sockets = crowd(100);
    await until(() => sockets.filter(({ destroyed }) => destroyed).length > 80);
    const session = await harness.session();
    const pid = Number(textOf(await session.call('pid')));
    process.kill(pid, 'SIGKILL');
    await waitGone([pid]);
    const next = await until(async () => {
      const answer = await session.call('pid');
      return answer.error === undefined ? Number(textOf(answer)) : 0;
    });
    expect(next).not.toBe(pid);
    const samples = await fetchMetrics(harness.gateway.adminUrl);
    expect(metricSum(samples, 'sluice_connections_limit')).toBe(16);
    expect(metricSum(samples, 'sluice_connections')).toBeLessThanOrEqual(16);
    expect(metricSum(samples, 'sluice_idle_connections_closed_total')).toBeGreaterThan(80);
    const warning = await harness.gateway.waitForLog(
      ({ msg }) => msg === 'too many connections of clients',
    );
    expect(warning).toMatchObject({ whose: 'all', limit: 16, descriptors: 64 });
  });
});

describe('more servers than there are descriptors for', () => {
  const one = scriptedServer({ config: { sharing: 'session' } });
  const harness = useGateway(() => ({
    startedBy: ['prlimit', '--nofile=48:48'],
    servers: { one: one.config },
    config: { processes: { maxPerPrincipal: 64 } },
  }));

  it('are unavailable, with the reason; when others have ended they are started', async () => {
    let refused: unknown;
    while (refused === undefined) {
      const answer = await post(harness.url(), initializeRequest()).response();
      const { error } = answer.json() as { error?: unknown };
      refused = error;
      const sessionId = String(answer.headers['mcp-session-id'] ?? '');
      if (refused === undefined) open.push(sessionId);
      if (open.length > 20) throw new Error('there are descriptors for everything');
    }
    expect(refused).toMatchObject({
      code: -32603,
      message: expect.stringMatching(
        /EMFILE: no file descriptor is left to start .*ulimit -n/,
      ) as unknown,
      data: { reason: 'server_unavailable', outcome: 'not_sent', server: 'one' },
    });
    for (const id of open) {
      const headers = { 'mcp-session-id': id };
      expect((await fetch(harness.url(), { method: 'DELETE', headers })).status).toBe(200);
    }
    await until(async () => {
      const session = await harness.session().catch(() => undefined);
      return session !== undefined && textOf(await session.call('echo', {})) === '{}';
    });
  });
  const open: string[] = [];
});
