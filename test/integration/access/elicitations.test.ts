/**
 * B15: the ids of elicitations that a server sends its users to a page with. The server tells of the end by
 * id alone; only who got the id hears of it, wherever the server is and in whichever way it asked.
 */
import type { ServerResponse } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import type { LegacySession } from '../../support/legacy-session.ts';
import { fetchMetrics, metricSum } from '../../support/metrics.ts';
import { CAPABLE, People } from '../../support/principals.ts';
import { RemoteServer, sendJson } from '../../support/remote-server.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { until } from '../../support/until.ts';
import { useGateway } from '../../support/use-gateway.ts';
import { hasMethod, type Json } from '../../support/wire-message.ts';

const COMPLETE = 'notifications/elicitation/complete';
const VERSION = '2025-11-25';

const visit = (elicitationId: unknown): Json => ({
  code: -32_042,
  message: 'URL elicitation required',
  data: {
    elicitations: [{ mode: 'url', elicitationId, url: 'https://x.example/go', message: 'Go' }],
  },
});
const complete = (elicitationId: string): Json => ({ method: COMPLETE, params: { elicitationId } });

/** A server that has one stream for each session of the gateway's. */
const streams = new Set<ServerResponse>();
const remote = await RemoteServer.start({
  tools: ['error', 'notify'].map((name) => ({ name, inputSchema: { type: 'object' } })),
});
remote.takeover = ({ method, message, response }) => {
  if (method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    streams.add(response);
    return true;
  }
  if (message.method !== 'tools/call') return false;
  const { arguments: args, name } = message.params ?? {};
  if (name === 'notify') {
    const text = JSON.stringify({ jsonrpc: '2.0', ...(args as Json) });
    for (const stream of streams) stream.write(`data: ${text}\n\n`);
    sendJson(response, 200, { jsonrpc: '2.0', id: message.id, result: { content: [] } });
  } else {
    sendJson(response, 200, { jsonrpc: '2.0', id: message.id, error: args });
  }
  return true;
};

const people = new People();
const harness = useGateway(() => ({
  servers: { near: scriptedServer().config, far: { url: remote.url } },
  config: people.config,
}));
afterAll(() => remote.close());

describe.each(['near', 'far'])('elicitations of a server that is %s', (server) => {
  const open = async (name: string): Promise<LegacySession> => {
    const path = `/servers/${server}/mcp`;
    return await people.legacy(harness, name, path, { version: VERSION, capabilities: CAPABLE });
  };
  const withheld = async (): Promise<number> =>
    metricSum(await fetchMetrics(harness.gateway.adminUrl), 'sluice_notifications_withheld_total', {
      server,
      reason: 'unattributable',
    });

  it('are told the end of to who was refused with them, and to nobody else (B15)', async () => {
    if (server === 'far') await until(() => streams.size > 0);
    const [ann, bob] = [await open('ann'), await open('bob')];
    const [ofAnn, ofBob] = [ann.openStream(), bob.openStream()];
    await Promise.all([ofAnn.head, ofBob.head]);
    const ids = ['of-ann', 'of-bob'];
    for (const [at, session] of [ann, bob].entries()) {
      const { error } = await session.call('error', visit(ids[at]));
      expect(error).toEqual(visit(ids[at]));
    }
    // Bob makes the server say it: that it was his call says nothing.
    await bob.call('notify', complete('of-ann'));
    await bob.call('notify', complete('of-bob'));
    const told = await Promise.all(
      [ofAnn, ofBob].map((stream) => stream.messages.next(hasMethod(COMPLETE))),
    );
    expect(told.map(({ params }) => params?.['elicitationId'])).toEqual(ids);
  });

  it('have ids that are unknown when somebody else was given them too (B15)', async () => {
    const [ann, bob] = [await open('ann'), await open('bob')];
    const [ofAnn, ofBob] = [ann.openStream(), bob.openStream()];
    await Promise.all([ofAnn.head, ofBob.head]);
    await ann.call('error', visit('both'));
    await bob.call('error', visit('both'));
    const before = await withheld();
    for (const id of ['both', 'nobody']) await ann.call('notify', complete(id));
    await until(async () => (await withheld()) === before + 2);
    for (const [at, session] of [ann, bob].entries()) {
      await session.call('error', visit(`last-${at}`));
      await session.call('notify', complete(`last-${at}`));
    }
    const told = await Promise.all(
      [ofAnn, ofBob].map((stream) => stream.messages.next(hasMethod(COMPLETE))),
    );
    expect(told.map(({ params }) => params?.['elicitationId'])).toEqual(['last-0', 'last-1']);
  });
});

it('an id that came with a server request is its asker’s too (B15)', async () => {
  const near = '/servers/near/mcp';
  const options = { version: VERSION, capabilities: CAPABLE };
  const ann = await people.legacy(harness, 'ann', near, options);
  const bob = await people.legacy(harness, 'bob', near, options);
  const [ofAnn, ofBob] = [ann.openStream(), bob.openStream()];
  await Promise.all([ofAnn.head, ofBob.head]);
  const call = ann.beginCall('ask_url');
  const serverRequest = await call.exchange.messages.next(hasMethod('elicitation/create'));
  await ann.post({ jsonrpc: '2.0', id: serverRequest.id, result: { action: 'accept' } }).response();
  await call.answer;
  await bob.call('error', visit('of-bob'));
  await bob.call('notify', complete('e-1'));
  await bob.call('notify', complete('of-bob'));
  const told = await Promise.all(
    [ofAnn, ofBob].map((stream) => stream.messages.next(hasMethod(COMPLETE))),
  );
  expect(told.map(({ params }) => params?.['elicitationId'])).toEqual(['e-1', 'of-bob']);
});
