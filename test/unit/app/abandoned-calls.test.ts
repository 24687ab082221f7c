// What the gateway keeps of calls that nobody waits for any more: a server may still ask on their behalf,
// so whose they were is remembered, but nothing that a client decides the size of.
import { afterEach, describe, expect, it } from 'vitest';
import { heldBytes } from '../../support/memory.ts';
import { until } from '../../support/until.ts';
import { type Era, endpointsInProcess } from './endpoints-in-process.ts';

/** At once, as many as a session may have. */
const CALLS = 60;
const PAD = 'x'.repeat(200_000);
/** An entry in a table and a client of its own are some kilobytes a call, at most. */
const MOST_KEPT = 2_000_000;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const ERAS: readonly (readonly [client: Era, server: Era])[] = [
  ['legacy', 'legacy'],
  ['modern', 'legacy'],
  ['modern', 'modern'],
  ['legacy', 'modern'],
];
/** A path of each kind, and what of a tool's terms lies on it. */
const PATHS = ['/servers/a', '', '/limited'];

describe.each(ERAS)('A %s client at a %s server', (era, server) => {
  /** Calls a tool that never answers, again and again. */
  async function callHanging(path: string, request: string) {
    const harness = await endpointsInProcess(server, { request });
    closing.push(harness.close);
    const client = await harness.client(path, era);
    const tool = await client.tool('hang');
    // The memory of a buffer is given back a moment after it was found to be garbage.
    heldBytes();
    await new Promise(setImmediate);
    const before = heldBytes();
    for (let i = 0; i < CALLS; i++) client.call(`c${i}`, tool, { pad: PAD });
    await until(() => harness.calls('a') === CALLS);
    const isLittleKept = async (): Promise<void> => {
      await until(() => heldBytes() - before < MOST_KEPT, { what: 'what was kept to be gone' });
    };
    return { client, isLittleKept };
  }

  it.each(PATHS)('leaves next to nothing of calls that it cancels (%s)', async (path) => {
    const { client, isLittleKept } = await callHanging(path, '60s');
    for (let i = 0; i < CALLS; i++) client.cancel(`c${i}`);
    await isLittleKept();
  });

  it.each(PATHS.slice(1))(
    'leaves next to nothing of calls without an answer in time (%s)',
    async (path) => {
      const { client, isLittleKept } = await callHanging(path, '500ms');
      await until(() => client.answers === CALLS);
      expect(client.reasons()).toEqual(new Set(['server_timeout']));
      await isLittleKept();
    },
  );
});
