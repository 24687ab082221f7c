/** What an address may ask for counts for all addresses that one client has. */
import type { IncomingMessage } from 'node:http';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Gatekeeper, type GatekeeperParts } from '../../../src/listener/gatekeeper.ts';
import { Metrics } from '../../../src/observe/metrics.ts';
import { PrincipalLoads } from '../../../src/observe/principal-loads.ts';

function gatekeeper(): Gatekeeper {
  return new Gatekeeper({
    listen: { trustedProxies: [] } as unknown as GatekeeperParts['listen'],
    proxies: undefined,
    limits: {
      addressRequestsPerSecond: 2,
      requestsPerSecond: 0,
      failedLoginsPerMinute: 60,
    } as GatekeeperParts['limits'],
    auth: undefined,
    watchers: { loads: new PrincipalLoads(10), audit: undefined },
    logger: pino({ enabled: false }),
    metrics: new Metrics({ version: '0', node: '0' }),
    changed: () => undefined,
  });
}

function requestFrom(remoteAddress: string): IncomingMessage {
  const request = { method: 'POST', url: '/mcp', headers: {}, socket: { remoteAddress } };
  return request as unknown as IncomingMessage;
}

/** How many of 20 requests, each from another address, come in at once. */
function admitted(addressOf: (at: number) => string): number {
  const keeper = gatekeeper();
  const admissions = Array.from({ length: 20 }, (_, at) =>
    keeper.admit(requestFrom(addressOf(at)), undefined),
  );
  return admissions.filter((admission) => 'principal' in admission).length;
}

it('a client with a network of IPv6 addresses has the rate of one address', () => {
  expect(admitted((at) => `2001:db8:0:1::${at.toString(16)}`)).toBeLessThan(6);
});

it('clients of different networks have a rate each', () => {
  expect(admitted((at) => `2001:db8:0:${at.toString(16)}::1`)).toBe(20);
  expect(admitted((at) => `192.0.2.${at}`)).toBe(20);
});
